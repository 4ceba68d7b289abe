package cmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"opprof/engine/alert"
	"opprof/engine/notes"
	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/panel"
)

// summary is the plain page that a screen command prints when there is no terminal: the values of one frame with their units.
type summary struct {
	run      rundir.Description
	frame    *store.Frame
	warnings []alert.Warning
	notes    []notes.Note
	shown    *store.Instant // the step that has a column of its own
	quiet    int64          // steps behind it that ran no model
	zone     *time.Location
}

func (s *summary) write(w io.Writer) error {
	for _, part := range []func() *table{s.identity, s.numbers, s.histograms, s.graphs, s.engines, s.windows, s.warned, s.noted} {
		t := part()
		if len(t.rows) == 0 {
			continue
		}
		if err := t.write(w); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	for _, problem := range s.run.Problems {
		if _, err := fmt.Fprintf(w, "note: %s\n", chart.Sanitize(problem)); err != nil {
			return err
		}
	}
	return nil
}

// warned lists what is or was wrong.
func (s *summary) warned() *table {
	t := &table{}
	if len(s.warnings) == 0 {
		return t
	}
	t.row("warning", "", "count", "of", "first", "last", "engine")
	for _, w := range s.warnings {
		now := "over"
		if w.Active {
			now = "now"
		}
		t.row(w.Rule.String(), now, unit.Count(w.Count), w.Unit, s.moment(w.FirstNS), s.moment(w.LastNS), chart.Sanitize(orDash(w.Engine)))
	}
	return t
}

// noted lists what readers wrote down.
func (s *summary) noted() *table {
	t := &table{}
	if len(s.notes) == 0 {
		return t
	}
	for _, row := range noteRows(s.notes, s.zone, false) {
		t.rows = append(t.rows, []string{row})
	}
	return t
}

func (s *summary) moment(ns int64) string {
	if ns == 0 {
		return unit.Unknown
	}
	return unit.Date(ns, s.zone)
}

func (s *summary) identity() *table {
	t := &table{}
	line := func(name string, parts ...string) {
		for i, p := range parts {
			parts[i] = chart.Sanitize(p)
		}
		t.rows = append(t.rows, []string{fmt.Sprintf("%-9s", name) + strings.Join(parts, "   ")})
	}
	d, run := &s.run, &s.frame.Run.Counts
	line("run", orDash(d.ID), d.State(func(ns int64) string { return unit.Date(ns, s.zone) + " " + zoneName(ns, s.zone) }))
	line("path", d.Path)
	line("model", orDash(d.Model), orDash(d.Parallel()), orDash(d.GraphMode), "vLLM "+orDash(d.VLLMVersion), patched(d))
	if d.ModelPath != "" {
		line("", "loaded from "+d.ModelPath)
	}
	line("time", unit.Date(run.FirstNS, s.zone)+" to "+unit.Date(run.LastNS, s.zone)+" "+zoneName(run.LastNS, s.zone), lasted(run))
	line("state", s.frame.State.Name+stalledFor(&s.frame.State), s.rates())
	line("records", s.records()...)
	return t
}

func patched(d *rundir.Description) string {
	if d.PatchHash == "" {
		return "patch -"
	}
	return "patch " + d.PatchHash[:min(12, len(d.PatchHash))]
}

func lasted(c *store.Counts) string {
	if c.Steps == 0 {
		return unit.Unknown
	}
	return unit.Duration(c.LastNS - c.FirstNS)
}

// zoneName is the zone's short name at that time.
func zoneName(ns int64, zone *time.Location) string { return time.Unix(0, ns).In(zone).Format("MST") }

func stalledFor(st *store.State) string {
	if st.StalledNS == 0 {
		return ""
	}
	return " for " + unit.Duration(st.StalledNS)
}

func (s *summary) rates() string {
	r := &s.frame.Rates
	if !r.Known {
		return "rates -"
	}
	text := fmt.Sprintf("%s   prefill %s   decode %s", unit.Rate(r.StepsPerS, "step/s"), unit.Rate(r.PrefillTokPerS, "tok/s"), unit.Rate(newDecode(r), "tok/s"))
	if r.RecomputeTokPerS > 0 {
		text += "   recomputed " + unit.Rate(r.RecomputeTokPerS, "tok/s")
	}
	return text
}

// newDecode is the rate of decode tokens that were not computed before, where the recorder tells them apart.
func newDecode(r *store.Rates) float64 {
	if r.RecomputeKnown {
		return r.NewDecodeTokPerS
	}
	return r.DecodeTokPerS
}

func (s *summary) records() []string {
	var bytes int64
	for _, stream := range s.run.Streams {
		bytes += stream.Bytes
	}
	loss := &s.frame.Loss
	parts := []string{fmt.Sprintf("%s of %s, %s", unit.Counted(s.frame.Run.Counts.Steps, "step"), unit.Counted(len(s.frame.Engines), "engine"), unit.Bytes(bytes))}
	if s.frame.Sampled {
		parts[0] = "about " + parts[0] + ": totals are estimates from samples"
	}
	parts = append(parts, unit.Count(loss.Dropped)+" dropped")
	for _, l := range []struct {
		n    int64
		what string
	}{{loss.BadLines, "bad line"}, {loss.Gaps, "index gap"}, {loss.Backward, "restart"}, {loss.Unknown, "unknown line"}, {loss.TornTails, "torn tail"}, {loss.Unplaced, "unplaced step"}} {
		if l.n > 0 {
			parts = append(parts, unit.Counted(l.n, l.what))
		}
	}
	return parts
}

// numbers puts three stretches side by side: the newest step, the columns shown, the whole run.
func (s *summary) numbers() *table {
	t := &table{}
	f := s.frame
	if f.Run.Counts.Steps == 0 {
		return t
	}
	now := s.shown
	whole := f.Span.Counts.Steps == f.Run.Counts.Steps // the columns show all there is: one stretch says it
	each := func(name, now string, of func(*store.Summary) string) {
		if whole {
			t.row(name, now, of(&f.Run))
			return
		}
		t.row(name, now, of(&f.Span), of(&f.Run))
	}
	step := "step " + unit.Count(now.StepIndex)
	if s.quiet > 0 {
		step += ", the last that ran the model"
	}
	each("", step, func(x *store.Summary) string {
		if x == &f.Run {
			return "run"
		}
		return "last " + unit.Duration(f.ToNS-f.FromNS)
	})
	count := func(name string, now int64, of func(*store.Counts) int64) {
		each(name, unit.Count(now), func(x *store.Summary) string { return unit.Count(of(&x.Counts)) })
	}
	each("step period p50, ms", unit.Known(now.PeriodNS, unit.DurationMS), func(x *store.Summary) string { return unit.Known(x.Period.P50NS, unit.DurationMS) })
	each("            p95, ms", "", func(x *store.Summary) string { return unit.Known(x.Period.P95NS, unit.DurationMS) })
	each("            p99, ms", "", func(x *store.Summary) string { return unit.Known(x.Period.P99NS, unit.DurationMS) })
	each("            max, ms", "", func(x *store.Summary) string { return unit.Known(x.Period.MaxNS, unit.DurationMS) })
	each("stalls, periods >= "+unit.Duration(store.StallNS), "", func(x *store.Summary) string { return unit.Count(x.Counts.Stalls) })
	each("steps", "", func(x *store.Summary) string { return unit.Count(x.Counts.Steps) })
	count("prefill tokens", now.PrefillTokens, func(c *store.Counts) int64 { return c.PrefillTokens })
	count("decode tokens", newTokens(now), func(c *store.Counts) int64 {
		if n, told := c.NewDecodeTokens(); told {
			return n
		}
		return c.DecodeTokens
	})
	each("recomputed tokens", unit.Known(now.RecomputeTokens, unit.Count), func(x *store.Summary) string { return knownIn(x.Counts.RecomputeSteps, x.Counts.RecomputeTokens) })
	each("decode requests, mean per step", unit.Count(now.DecodeBatchSize), func(x *store.Summary) string { return mean(x.Counts.DecodeRequests, x.Counts.Steps) })
	each("prefill requests, mean per step", unit.Count(now.PrefillRequests), func(x *store.Summary) string { return mean(x.Counts.PrefillRequests, x.Counts.Steps) })
	each("running, max", unit.Count(now.Queues.Running), func(x *store.Summary) string { return unit.Count(x.Counts.RunningMax) })
	each("waiting, max", unit.Count(now.Queues.Waiting), func(x *store.Summary) string { return unit.Count(x.Counts.WaitingMax) })
	each("deferred, max", unit.Count(now.Queues.Deferred), func(x *store.Summary) string { return unit.Count(x.Counts.DeferredMax) })
	count("preemptions", now.Preemptions, func(c *store.Counts) int64 { return c.Preemptions })
	each("KV usage, max", unit.Percent(now.KV.Usage), func(x *store.Summary) string { return unit.Percent(x.Counts.KVUsageMax) })
	each("KV blocks, used of total", unit.Count(now.KV.UsedBlocks)+" of "+unit.Count(now.KV.TotalBlocks), func(*store.Summary) string { return "" })
	each("prefix hits of looked-up tokens", hits(now.Local), func(x *store.Summary) string { return unit.Share(x.Counts.Local.Hits, x.Counts.Local.Queries) })
	return t
}

// newTokens are the decode tokens of a step that were not computed before a preemption; all where it does not tell.
func newTokens(n *store.Instant) int64 {
	if n.RecomputeTokens == nil {
		return n.DecodeTokens
	}
	return max(0, n.DecodeTokens-*n.RecomputeTokens)
}

// knownIn prints a sum of which so many steps tell.
func knownIn(steps, sum int64) string {
	if steps == 0 {
		return unit.Unknown
	}
	return unit.Count(sum)
}

func mean(sum, n int64) string {
	if n == 0 {
		return unit.Unknown
	}
	return unit.Number(float64(sum) / float64(n))
}

func hits(p *record.Prefix) string {
	if p == nil {
		return unit.Unknown
	}
	return unit.Share(p.Hits, p.Queries)
}

// histograms prints both histograms of the run with edges, counts and shares.
func (s *summary) histograms() *table {
	t := &table{}
	c := &s.frame.Run.Counts
	if c.Steps == 0 {
		return t
	}
	contextEdges, chunkEdges := record.ContextEdges(), record.ChunkEdges()
	t.row(append([]string{"context length, up to tokens"}, unit.Edges(contextEdges[:])...)...)
	bins(t, "  request-steps", c.ContextHist[:])
	t.row()
	t.row(append([]string{"chunk size, up to tokens"}, unit.Edges(chunkEdges[:])...)...)
	bins(t, "  prefill requests", c.Chunks.SizeHist[:])
	t.row()
	t.row("chunks", "first", "middle", "final", "unsplit")
	bins(t, "  prefill requests", []int64{c.Chunks.First, c.Chunks.Middle, c.Chunks.Final, c.Chunks.Unsplit})
	return t
}

func bins(t *table, name string, counts []int64) {
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	numbers, shares := []string{name}, []string{"  share"}
	for _, n := range counts {
		numbers = append(numbers, unit.Short(n))
		shares = append(shares, unit.Share(n, total))
	}
	t.row(numbers...)
	t.row(shares...)
}

func (s *summary) graphs() *table {
	t := &table{}
	c := &s.frame.Run.Counts
	if c.Steps == 0 {
		return t
	}
	head, numbers, shares := []string{"CUDA graph"}, []string{"  steps"}, []string{"  share of known"}
	known := c.Steps - c.Graph[record.GraphUnknown]
	for _, m := range []record.GraphMode{record.GraphFull, record.GraphPiecewise, record.GraphNone, record.GraphOther, record.GraphUnknown} {
		if m == record.GraphOther && c.Graph[m] == 0 {
			continue
		}
		head = append(head, m.String())
		numbers = append(numbers, unit.Count(c.Graph[m]))
		if m == record.GraphUnknown {
			shares = append(shares, "")
			continue
		}
		shares = append(shares, unit.Share(c.Graph[m], known))
	}
	t.row(append(head, "padding")...)
	t.row(append(numbers, unit.Short(c.GraphPadding)+" tok")...)
	t.row(append(shares, unit.Share(c.GraphPadding, c.GraphBucket))...)
	return t
}

// engines lists the engines of a run with several.
func (s *summary) engines() *table {
	t := &table{left: []int{1}} // state
	if len(s.frame.Engines) < 2 {
		return t
	}
	t.row("engine", "state", "steps", "last step", "step/s", "prefill tok/s", "decode tok/s", "running", "waiting", "KV", "dropped")
	for i := range s.frame.Engines {
		e := &s.frame.Engines[i]
		rate := func(v float64) string {
			if !e.Rates.Known {
				return unit.Unknown
			}
			return unit.Number(v)
		}
		t.row(chart.Sanitize(e.ID), e.State.Name, unit.Count(e.Steps), unit.Count(e.LastStep), rate(e.Rates.StepsPerS), rate(e.Rates.PrefillTokPerS),
			rate(newDecode(&e.Rates)), unit.Count(e.Now.Queues.Running), unit.Count(e.Now.Queues.Waiting), unit.Percent(e.Now.KV.Usage), unit.Count(e.Loss.Dropped))
	}
	return t
}

func (s *summary) windows() *table {
	t := &table{left: []int{1, 2, 3}} // engine, at, steps
	if len(s.frame.Windows) == 0 {
		return t
	}
	t.row("profiler window", "engine", "at", "steps", "longest period")
	for i, w := range s.frame.Windows {
		longest := unit.Unknown
		if w.LongestNS > 0 {
			longest = unit.Duration(w.LongestNS)
		}
		t.row(panel.WindowName(s.frame, i), chart.Sanitize(w.Engine), unit.Clock(w.StartNS, s.zone), panel.MarkedSteps(&w), longest)
	}
	return t
}
