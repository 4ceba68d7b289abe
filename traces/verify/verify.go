// Package verify says whether the traces of a profiler window show the steps that the window was open for. It compares them with the steps
// that the supervisor saw go by, so that a run of a day need not be read again.
package verify

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"opprof/engine/window"
	"opprof/traces/capture"
	"opprof/traces/family"
	"opprof/traces/join"
)

// Window reads the files of a window and compares every label of every rank with its step.
func Window(ctx context.Context, rules *family.Rules, w window.Window, paths []string) (window.Inspection, error) {
	c, err := capture.Load(ctx, capture.Input{Traces: paths, Rules: rules, Parallel: 1})
	if err != nil {
		return window.Inspection{}, fmt.Errorf("cannot read the traces: %w", err)
	}
	found := window.Inspection{Labelled: map[string]window.Labelled{}}
	problem := func(format string, args ...any) {
		found.Problems = append(found.Problems, fmt.Sprintf(format, args...))
	}
	for _, f := range c.Failed {
		problem("%v", f.Err)
	}
	seen := map[int64]bool{}
	for _, captured := range c.Windows {
		g := captured.Group
		for _, b := range g.Ranks {
			found.Ranks = append(found.Ranks, window.InspectedRank{Path: c.Paths[b], Rank: b.Rank.Global, DataParallel: b.Rank.DP,
				Labels: int64(len(b.Iterations)), LostEvents: b.Faults})
			if b.Truncated {
				problem("%s is cut off", filepath.Base(c.Paths[b]))
			}
			// The engines of a dense model are all rank 0 and say no more (vllm/distributed/utils.py).
			if b.Rank.Known() && seen[b.Rank.Global] && (b.Rank.DP >= 0 || len(w.Engines) < 2) {
				problem("rank %d left two traces", b.Rank.Global)
			}
			seen[b.Rank.Global] = true
		}
		if why := compare(g, &w, found.Labelled); why != "" {
			problem("%s", why)
		}
	}
	return found, nil
}

// compare says how the labels of a group differ from the steps of its engine, "" when they do not. Where the files do not say which engine
// they are of, one whose steps they equal is theirs. These steps go into labelled.
func compare(g join.Group, w *window.Window, labelled map[string]window.Labelled) string {
	why := "no engine has recorded when its profiler was started, so that nothing ties the labels to steps"
	for i := range w.Engines {
		e := &w.Engines[i]
		if len(w.Engines) > 1 && g.DP() >= 0 && !strings.HasPrefix(e.ID, fmt.Sprintf("dp%d-", g.DP())) {
			continue
		}
		var steps []join.Step
		if steps, why = compareWith(g, e, w.Loose); why == "" {
			labelled[e.ID] = window.Labelled{First: steps[0].Index, Last: steps[len(steps)-1].Index, Whole: g.Whole()}
			return ""
		}
	}
	return why
}

// compareWith gives the steps that the labels are of, or why they are of none. The labels of a loose window may begin behind its first step.
func compareWith(g join.Group, e *window.EngineWindow, loose bool) (labelled []join.Step, why string) {
	if len(e.Steps) == 0 {
		return nil, fmt.Sprintf("engine %s has recorded no step since its profiler was started", e.ID)
	}
	steps := make([]join.Step, len(e.Steps))
	for i, s := range e.Steps {
		steps[i] = join.Step{Index: s.Index, PrefillRequests: s.PrefillRequests, PrefillTokens: s.PrefillTokens, DecodeRequests: s.DecodeRequests,
			DecodeTokens: s.DecodeTokens, SubmitNS: s.SubmitWallNS}
	}
	first := steps[0].Index
	joined := join.NewWindow(g, steps, []join.Marker{{AfterStep: first - 1}})
	if joined.Join.Method == "" {
		return nil, "labels and steps: " + joined.Join.Reason
	}
	if loose {
		first = joined.Join.Steps[0].Index
	}
	for i, s := range joined.Join.Steps {
		if s.Index != first+int64(i) {
			return nil, fmt.Sprintf("label %d is step %d, and step %d was expected after the marker", i+1, s.Index, first+int64(i))
		}
	}
	return joined.Join.Steps, ""
}
