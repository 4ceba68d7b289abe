package supervisor

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"opprof/engine/control"
	"opprof/engine/rundir"
	"opprof/engine/unit"
	"opprof/engine/window"
)

// SummarySchema is the version of summary.json.
const SummarySchema = 1

// Summary is what stays of a window: windows/<n>/summary.json. Times are ns since 1970; unknown is null.
type Summary struct {
	Schema        int             `json:"schema"`
	N             int             `json:"n"`
	State         string          `json:"state"`
	Reason        string          `json:"reason"`
	Trigger       control.Trigger `json:"trigger"`
	Asked         string          `json:"asked"`   // the trigger's expression, or its kind
	Reached       []Reached       `json:"reached"` // compositions of the labelled steps, by engine and step
	ArmedNS       int64           `json:"armed_ns"`
	StartPostNS   *int64          `json:"start_post_ns"`
	StartReturnNS *int64          `json:"start_return_ns"`
	StopPostNS    *int64          `json:"stop_post_ns"`
	StopReturnNS  *int64          `json:"stop_return_ns"`
	Engines       []SummaryEngine `json:"engines"`
	Perturbed     *[2]int64       `json:"perturbed"` // first and last step of the first engine that the window disturbed
	StallNS       *int64          `json:"stall_ns"`  // how long writing its traces held serving up, as in status; null unknown
	Warmup        int64           `json:"warmup"`    // leading labels to be left out of every figure
	Profiler      map[string]any  `json:"profiler"`  // settings in force
	Ranks         []SummaryRank   `json:"ranks"`
}

// Reached is the composition of one labelled step.
type Reached struct {
	Engine          string `json:"engine"`
	Step            int64  `json:"step_index"`
	PrefillRequests int64  `json:"prefill_requests"`
	PrefillTokens   int64  `json:"prefill_tokens"`
	DecodeRequests  int64  `json:"decode_batch_size"`
	DecodeTokens    int64  `json:"decode_tokens"`
}

// SummaryEngine is one engine's part. Under data parallelism each has its own marker.
type SummaryEngine struct {
	ID        string    `json:"id"`
	AfterStep int64     `json:"after_step"`
	FirstStep *int64    `json:"first_step"`
	LastStep  *int64    `json:"last_step"`
	Perturbed *[2]int64 `json:"perturbed"`
}

// SummaryRank is one trace file.
type SummaryRank struct {
	Engine     *int64 `json:"engine"` // data-parallel rank, null when the file does not say
	Rank       *int64 `json:"rank"`
	File       string `json:"file"` // below the run's folder
	Bytes      int64  `json:"bytes"`
	Labels     *int64 `json:"labels"`
	Complete   bool   `json:"complete"`
	LostEvents *int64 `json:"lost_events"`
}

func newSummary(runDir string, w window.Window, warmup int64, profiler map[string]any) Summary {
	s := Summary{Schema: SummarySchema, N: w.N, State: w.State, Reason: w.Reason, Trigger: w.Trigger, Asked: asked(w.Trigger), ArmedNS: w.ArmedNS,
		StartPostNS: known(w.Starts), StartReturnNS: known(w.Started), StopPostNS: known(w.Stops), StopReturnNS: known(w.Stopped),
		StallNS: w.StallNS, Warmup: warmup, Profiler: profiler, Reached: []Reached{}, Engines: []SummaryEngine{}, Ranks: []SummaryRank{}}
	for _, e := range w.Engines {
		one := SummaryEngine{ID: e.ID, AfterStep: e.AfterStep}
		if n := len(e.Steps); n > 0 {
			one.FirstStep, one.LastStep = &e.Steps[0].Index, &e.Steps[n-1].Index
		}
		if e.PerturbedLast > e.AfterStep {
			one.Perturbed = &[2]int64{e.AfterStep + 1, e.PerturbedLast}
		}
		s.Engines = append(s.Engines, one)
		for _, l := range e.Steps {
			s.Reached = append(s.Reached, Reached{Engine: e.ID, Step: l.Index, PrefillRequests: l.PrefillRequests, PrefillTokens: l.PrefillTokens,
				DecodeRequests: l.DecodeRequests, DecodeTokens: l.DecodeTokens})
		}
	}
	if len(s.Engines) > 0 {
		s.Perturbed = s.Engines[0].Perturbed
	}
	for _, f := range w.Files {
		s.Ranks = append(s.Ranks, summaryRank(runDir, f, w.Found))
	}
	slices.SortFunc(s.Ranks, func(a, b SummaryRank) int { return int(order(a.Rank) - order(b.Rank)) })
	return s
}

func summaryRank(runDir string, f window.File, found []window.InspectedRank) SummaryRank {
	r := SummaryRank{File: f.Path, Bytes: f.Bytes, Complete: f.Complete}
	if below, err := filepath.Rel(runDir, f.Path); err == nil {
		r.File = below
	}
	for _, one := range found {
		if one.Path != f.Path {
			continue
		}
		r.Labels, r.LostEvents = &one.Labels, &one.LostEvents
		if one.Rank >= 0 {
			r.Rank = &one.Rank
		}
		if one.DataParallel >= 0 {
			r.Engine = &one.DataParallel
		}
	}
	return r
}

func asked(t control.Trigger) string {
	switch t.Kind {
	case control.TriggerExpr:
		return t.Expr
	case control.TriggerStep:
		return fmt.Sprintf("step_index >= %d", t.Step)
	case control.TriggerEvery:
		return "every " + unit.Counted(t.Every, "step")
	}
	return t.Kind
}

// known is a time, or nil when it has not come.
func known(ns int64) *int64 {
	if ns == 0 {
		return nil
	}
	return &ns
}

func order(rank *int64) int64 {
	if rank == nil {
		return -1
	}
	return *rank
}

// windowDir is a window's folder.
func windowDir(runDir string, n int) string {
	return filepath.Join(runDir, rundir.WindowsName, strconv.Itoa(n))
}

func writeSummary(runDir string, s Summary) error {
	dir := windowDir(runDir, s.N)
	if err := os.MkdirAll(dir, rundir.DirMode); err != nil {
		return fmt.Errorf("cannot write the summary of window %d: %w", s.N, err)
	}
	return rundir.WriteAtomic(filepath.Join(dir, "summary.json"), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false) // expressions are to be read
		e.SetIndent("", "  ")
		return e.Encode(s)
	})
}
