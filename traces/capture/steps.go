package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"opprof/engine/record"
	"opprof/engine/regular"
	"opprof/engine/store"
	"opprof/traces/interval"
	"opprof/traces/join"
)

// aroundNS is how far from a window's time its steps may lie: a label may start some tenths of a second after its step was submitted, and
// a sequence that fits elsewhere must be seen to be refused.
const aroundNS = 10_000_000_000

// engineSteps are the steps of one engine that lie near a window, and all its markers.
type engineSteps struct {
	dp      int64
	near    [][]join.Step // by group
	markers []join.Marker
}

type stepSet struct{ engines []*engineSteps }

// collect reads the streams once and keeps the steps near any group.
func collect(ctx context.Context, streams []string, groups []join.Group) (*stepSet, error) {
	set := &stepSet{}
	if len(groups) == 0 {
		return set, nil
	}
	around := make([]interval.Span, len(groups))
	for i, g := range groups {
		for _, b := range g.Ranks {
			span := b.Span
			for _, it := range b.Iterations {
				span = interval.Span{Start: min(span.Start, it.LabelNS.Start), End: max(span.End, it.LabelNS.End)}
			}
			if around[i] == (interval.Span{}) {
				around[i] = span
			}
			around[i] = interval.Span{Start: min(around[i].Start, span.Start), End: max(around[i].End, span.End)}
		}
		around[i].Start -= aroundNS
		around[i].End += aroundNS
	}
	for _, path := range streams {
		if err := set.read(ctx, path, around); err != nil {
			return nil, err
		}
	}
	for _, e := range set.engines {
		slices.SortStableFunc(e.markers, func(a, b join.Marker) int { return cmp.Compare(a.WallNS, b.WallNS) })
		for _, steps := range e.near {
			slices.SortStableFunc(steps, func(a, b join.Step) int { return cmp.Compare(a.Index, b.Index) })
		}
	}
	return set, nil
}

// headLines is how many lines of a stream are looked at for its header.
const headLines = 8

// ranksOf is how many ranks each engine has, by the headers of the streams; 0 where they do not tell, or not all the same.
func ranksOf(streams []string) int64 {
	var ranks int64
	for _, path := range streams {
		n := ranksIn(path)
		if ranks != 0 && n != 0 && n != ranks {
			return 0
		}
		ranks = cmp.Or(ranks, n)
	}
	return ranks
}

func ranksIn(path string) int64 {
	in, closeIn, err := open(path)
	if err != nil {
		return 0
	}
	defer closeIn()
	r := record.NewReader(in, path)
	for n := 0; n < headLines && r.Scan(); n++ {
		if l := r.Line(); l.Kind == record.KindHeader && l.Header.TensorParallel > 0 && l.Header.TensorParallel <= mostRanks {
			return l.Header.TensorParallel * max(1, min(l.Header.PipelineParallel, mostRanks))
		}
	}
	return 0
}

// mostRanks bounds what a damaged header can make us wait for.
const mostRanks = 1 << 10

// read adds a stream. Damage in it loses the damaged lines only; a stream that cannot be opened is left out, since the traces can still
// be shown.
func (s *stepSet) read(ctx context.Context, path string, around []interval.Span) error {
	in, closeIn, err := open(path)
	if err != nil {
		return nil
	}
	defer closeIn()
	r := record.NewReader(in, path)
	var sequence store.Sequence
	var e *engineSteps
	for n := 0; r.Scan(); n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch l := r.Line(); l.Kind {
		case record.KindHeader:
			sequence.Break()
		case record.KindProfile:
			if l.Profile.Action == record.ActionStart && (l.Profile.OK == nil || *l.Profile.OK) {
				e = s.engine(l.Profile.EngineID, len(around))
				e.markers = append(e.markers, join.Marker{AfterStep: l.Profile.AfterStep, WallNS: l.Profile.WallNS})
			}
		case record.KindStep:
			place := sequence.Next(&l.Step)
			for i, span := range around {
				if l.Step.SubmitWallNS >= span.Start && l.Step.SubmitWallNS < span.End {
					e = s.engine(l.Step.EngineID, len(around))
					e.near[i] = append(e.near[i], StepOf(&l.Step, place))
				}
			}
		}
	}
	return nil
}

// StepOf is what a join needs of a step.
func StepOf(s *record.Step, p store.Place) join.Step {
	out := join.Step{Index: s.StepIndex, PrefillRequests: s.PrefillRequests, PrefillTokens: s.PrefillTokens, DecodeRequests: s.DecodeBatchSize,
		DecodeTokens: s.DecodeTokens, SubmitNS: s.SubmitWallNS, SubmitToCompleteNS: s.SubmitToCompleteNS(), ContextHist: s.ContextHist}
	if p.PeriodNS != store.UnknownNS {
		period := p.PeriodNS
		out.PeriodNS = &period
	}
	if s.Known(record.HasGraph) {
		out.Graph = s.Graph.Mode.String()
		out.BucketTokens = s.Graph.BucketTokens
	}
	return out
}

func (s *stepSet) engine(id string, groups int) *engineSteps {
	dp := dataParallelRank(id)
	for _, e := range s.engines {
		if e.dp == dp {
			return e
		}
	}
	e := &engineSteps{dp: dp, near: make([][]join.Step, groups)}
	s.engines = append(s.engines, e)
	return e
}

// dataParallelRank reads the rank from an engine id such as dp1-pid1234; 0 for ids of another form.
func dataParallelRank(id string) int64 {
	var dp int64
	if _, err := fmt.Sscanf(id, "dp%d-", &dp); err != nil {
		return 0
	}
	return dp
}

// window joins a group with the steps of its engine. Files whose names carry no data-parallel rank belong to the only engine whose steps they fit.
func (s *stepSet) window(i int, g join.Group) join.Window {
	if g.DP() >= 0 {
		for _, e := range s.engines {
			if e.dp == g.DP() {
				return join.NewWindow(g, e.near[i], e.markers)
			}
		}
		return join.NewWindow(g, nil, nil)
	}
	var fit []join.Window
	w := join.NewWindow(g, nil, nil)
	for _, e := range s.engines {
		if w = join.NewWindow(g, e.near[i], e.markers); w.Join.Method != "" {
			fit = append(fit, w)
		}
	}
	switch {
	case len(fit) == 1:
		return fit[0]
	case len(fit) > 1:
		return join.Refused(g, fmt.Sprintf("the labels fit the steps of %d engines, and the file names carry no data-parallel rank", len(fit)))
	}
	return w
}

// open opens a stream, inflating it by its name's ending.
func open(path string) (io.Reader, func(), error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open stream: %w", err)
	}
	closeFile := func() { _ = f.Close() }
	switch {
	case strings.HasSuffix(path, ".gz"):
		z, err := gzip.NewReader(f)
		if err != nil {
			closeFile()
			return nil, nil, errors.Join(fmt.Errorf("cannot read stream %s", path), err)
		}
		return z, closeFile, nil
	case strings.HasSuffix(path, ".zst"):
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
		if err != nil {
			closeFile()
			return nil, nil, errors.Join(fmt.Errorf("cannot read stream %s", path), err)
		}
		return z, func() { z.Close(); closeFile() }, nil
	}
	return f, closeFile, nil
}
