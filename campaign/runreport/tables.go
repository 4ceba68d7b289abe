package runreport

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"opprof/campaign/figure"
	"opprof/campaign/page"
	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/engine/unit"
)

// quantities is a table of names and numbers.
func quantities(rows ...[2]string) page.Table {
	t := page.Table{Columns: []page.Column{{Name: "quantity"}, {Name: "value", Number: true}}}
	for _, r := range rows {
		t.Rows = append(t.Rows, r[:])
	}
	return t
}

// period are the percentiles of the step periods.
func (r *Report) period() page.Table {
	q, c := &r.Frame.Run.Period, &r.Frame.Run.Counts
	t := quantities([2]string{"step period p50, ms", unit.Known(q.P50NS, unit.DurationMS)}, [2]string{"step period p95, ms", unit.Known(q.P95NS, unit.DurationMS)},
		[2]string{"step period p99, ms", unit.Known(q.P99NS, unit.DurationMS)}, [2]string{"step period max, ms", unit.Known(q.MaxNS, unit.DurationMS)},
		[2]string{"step period mean, ms", meanMS(c.PeriodSumNS, q.N)}, [2]string{"steps with a known period", unit.Count(q.N)},
		[2]string{"steps with an unknown one", unit.Count(q.Unknown)}, [2]string{"stalls, periods or pauses >= " + unit.Duration(store.StallNS), unit.Count(c.Stalls)})
	t.Note = "Percentiles are exact, by nearest rank."
	if !q.Exact {
		t.Note = fmt.Sprintf("Percentiles are from a sketch with an error of at most %.1f %%.", q.ErrorPct)
	}
	return t
}

func meanMS(sum, n int64) string {
	if n == 0 {
		return unit.Unknown
	}
	return unit.DurationMS(sum / n)
}

// work is what the steps held.
func (r *Report) work() page.Table {
	c := &r.Frame.Run.Counts
	recomputed := unit.Unknown
	if c.RecomputeSteps > 0 {
		recomputed = unit.Count(c.RecomputeTokens)
	}
	resumed := unit.Unknown
	if c.ResumedSteps > 0 {
		resumed = unit.Count(c.ResumedRequests)
	}
	seconds := float64(c.LastNS-c.FirstNS) / 1e9
	rate := func(n int64) string {
		if seconds <= 0 {
			return unit.Unknown
		}
		return unit.Number(float64(n) / seconds)
	}
	return quantities([2]string{"steps", unit.Count(c.Steps)}, [2]string{"zero-token steps", unit.Count(c.ZeroToken)}, [2]string{"steps per second, mean of the run", rate(c.Steps)},
		[2]string{"prefill tokens", unit.Count(c.PrefillTokens)}, [2]string{"prefill tokens per second, mean of the run", rate(c.PrefillTokens)},
		[2]string{"decode tokens", unit.Count(newDecode(c))}, [2]string{"decode tokens per second, mean of the run", rate(newDecode(c))},
		[2]string{"recomputed tokens", recomputed}, [2]string{"resumed requests", resumed},
		[2]string{"decode requests, mean per step", mean(c.DecodeRequests, c.Steps)}, [2]string{"decode requests, max per step", unit.Count(c.DecodeBatchMax)},
		[2]string{"prefill requests, mean per step", mean(c.PrefillRequests, c.Steps)}, [2]string{"scheduled requests, mean per step", mean(c.ScheduledRequests, c.Steps)})
}

func mean(sum, n int64) string {
	if n == 0 {
		return unit.Unknown
	}
	return unit.Number(float64(sum) / float64(n))
}

// histograms are those of context lengths and chunks, with edges, counts and shares.
func (r *Report) histograms(plots bool) ([]page.Block, error) {
	c := &r.Frame.Run.Counts
	context, chunk := record.ContextEdges(), record.ChunkEdges()
	contexts := bins("Context length", "up to, tokens", "request-steps", unit.Edges(context[:]), c.ContextHist[:])
	chunks := bins("Chunk size", "up to, tokens", "prefill requests", unit.Edges(chunk[:]), c.Chunks.SizeHist[:])
	kinds := bins("Chunks", "kind", "prefill requests", []string{"first", "middle", "final", "unsplit"}, []int64{c.Chunks.First, c.Chunks.Middle, c.Chunks.Final, c.Chunks.Unsplit})
	var out []page.Block
	if plots {
		var figures page.Plots
		for _, t := range []page.Table{contexts, chunks} {
			f := figure.Bars{What: "histogram: " + t.Title, X: t.Columns[0].Name, Y: t.Columns[1].Name}
			for _, row := range t.Rows {
				f.Bars = append(f.Bars, figure.Bar{Name: row[0], Text: fmt.Sprintf("%s: %s %s, %s %%", row[0], row[1], t.Columns[1].Name, row[2])})
			}
			counts := c.ContextHist[:]
			if t.Title == chunks.Title {
				counts = c.Chunks.SizeHist[:]
			}
			for i := range f.Bars {
				f.Bars[i].Value = float64(counts[i])
			}
			svg, err := f.SVG()
			if err != nil {
				return nil, err
			}
			figures = append(figures, page.Plot{Title: t.Title, Caption: t.Columns[1].Name + " by bin", SVG: svg})
		}
		out = append(out, figures)
	}
	return append(out, contexts, chunks, kinds), nil
}

func bins(title, of, what string, names []string, counts []int64) page.Table {
	t := page.Table{Title: title, Columns: []page.Column{{Name: of}, {Name: what, Number: true}, {Name: "share", Unit: "%", Number: true}}}
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	for i, n := range counts {
		t.Rows = append(t.Rows, []string{names[i], unit.Count(n), share(n, total)})
	}
	return t
}

// share is part of total in percent, without the sign, which stands in the column's head.
func share(part, total int64) string { return strings.TrimSuffix(unit.Share(part, total), " %") }

func (r *Report) graphs() page.Table {
	c := &r.Frame.Run.Counts
	t := page.Table{Columns: []page.Column{{Name: "mode"}, {Name: "steps", Number: true}, {Name: "share of known", Unit: "%", Number: true}},
		Note: fmt.Sprintf("Padding: %s of %s tokens of captured sizes, %s.", unit.Count(c.GraphPadding), unit.Count(c.GraphBucket), unit.Share(c.GraphPadding, c.GraphBucket))}
	known := c.Steps - c.Graph[record.GraphUnknown]
	for _, m := range []record.GraphMode{record.GraphFull, record.GraphPiecewise, record.GraphNone, record.GraphOther, record.GraphUnknown} {
		of := share(c.Graph[m], known)
		if m == record.GraphUnknown {
			of = ""
		}
		t.Rows = append(t.Rows, []string{m.String(), unit.Count(c.Graph[m]), of})
	}
	return t
}

// memory is the KV cache and what it was asked for.
func (r *Report) memory() page.Table {
	c, now := &r.Frame.Run.Counts, &r.Frame.Now
	usage := unit.Unknown
	if c.Steps > 0 {
		usage = unit.Percent(c.KVUsageSum / float64(c.Steps))
	}
	external := unit.Unknown
	if c.ExternalSteps > 0 {
		external = unit.Share(c.External.Hits, c.External.Queries)
	}
	return quantities([2]string{"KV usage, max", unit.Percent(c.KVUsageMax)}, [2]string{"KV usage, mean over steps", usage}, [2]string{"KV usage, time of the max", r.date(c.KVUsageMaxNS)},
		[2]string{"KV blocks, total", unit.Count(now.KV.TotalBlocks)}, [2]string{"prefix hits of looked-up tokens", unit.Share(c.Local.Hits, c.Local.Queries)},
		[2]string{"prefix tokens looked up", prefixTokens(c, c.Local.Queries)}, [2]string{"prefix tokens found", prefixTokens(c, c.Local.Hits)},
		[2]string{"prefix hits of the external cache", external})
}

func prefixTokens(c *store.Counts, n int64) string {
	if c.LocalSteps == 0 {
		return unit.Unknown
	}
	return unit.Count(n)
}

func (r *Report) queues() page.Table {
	c := &r.Frame.Run.Counts
	return quantities([2]string{"running, max", unit.Count(c.RunningMax)}, [2]string{"running, mean over steps", mean(c.RunningSum, c.Steps)},
		[2]string{"waiting, max", unit.Count(c.WaitingMax)}, [2]string{"waiting, mean over steps", mean(c.WaitingSum, c.Steps)}, [2]string{"deferred, max", unit.Count(c.DeferredMax)})
}

func (r *Report) events() page.Table {
	c, l := &r.Frame.Run.Counts, &r.Frame.Loss
	return quantities([2]string{"preemptions", unit.Count(c.Preemptions)}, [2]string{"last preemption", r.date(c.LastPreemptionNS)}, [2]string{"stalls", unit.Count(c.Stalls)},
		[2]string{"gaps and restarts", unit.Count(c.Gaps)}, [2]string{"records dropped", unit.Count(l.Dropped)}, [2]string{"bad lines", unit.Count(l.BadLines)},
		[2]string{"profiler windows", unit.Count(int64(len(r.Windows)))})
}

func (r *Report) warnings() page.Table {
	t := page.Table{Title: "Warnings", Columns: page.TextColumns("warning", "now", "count", "of", "first", "last", "engine")}
	t.Columns[2].Number = true
	for _, w := range r.Warnings {
		now := "over"
		if w.Active {
			now = "now"
		}
		t.Rows = append(t.Rows, []string{w.Rule.String(), now, unit.Count(w.Count), w.Unit, r.date(w.FirstNS), r.date(w.LastNS), dash(w.Engine)})
	}
	return t
}

// notes are what readers wrote down.
func (r *Report) notes() page.Table {
	t := page.Table{Columns: []page.Column{{Name: "step", Number: true}, {Name: "engine"}, {Name: "time"}, {Name: "note"}}}
	for i := range r.Notes {
		n := &r.Notes[i]
		step := "the run"
		if n.Step != nil {
			step = unit.Count(*n.Step)
		}
		t.Rows = append(t.Rows, []string{step, dash(n.Engine), r.date(n.AtNS), n.Text})
	}
	return t
}

func (r *Report) engines() page.Table {
	t := page.Table{Columns: []page.Column{{Name: "engine"}, {Name: "state"}, {Name: "steps", Number: true}, {Name: "first step", Number: true}, {Name: "last step", Number: true},
		{Name: "dummy steps", Number: true}, {Name: "dropped", Number: true}, {Name: "bad lines", Number: true}, {Name: "gaps", Number: true}, {Name: "footer"}}}
	for i := range r.Frame.Engines {
		e := &r.Frame.Engines[i]
		footer := "yes"
		if e.Footer == nil {
			footer = "no"
		}
		t.Rows = append(t.Rows, []string{e.ID, e.State.Name, unit.Count(e.Steps), unit.Count(e.FirstStep), unit.Count(e.LastStep), unit.Count(e.Dummies),
			unit.Count(e.Loss.Dropped), unit.Count(e.Loss.BadLines), unit.Count(e.Loss.Gaps), footer})
	}
	return t
}

// checks is what opprof check says.
func (r *Report) checks() []page.Block {
	if r.Unchecked != "" {
		return []page.Block{page.Text("Not checked: " + r.Unchecked)}
	}
	if len(r.Checks) == 0 {
		return []page.Block{page.Text("There is no stream to check.")}
	}
	t := page.Table{Columns: []page.Column{{Name: "stream"}, {Name: "verdict"}, {Name: "steps", Number: true}, {Name: "dropped", Number: true}, {Name: "bad lines", Number: true}, {Name: "footer"}}}
	found := page.Table{Title: "What does not hold", Columns: []page.Column{{Name: "stream"}, {Name: "check"}, {Name: "times", Number: true}, {Name: "first step", Number: true}, {Name: "detail"}}}
	for i := range r.Checks {
		c := &r.Checks[i]
		verdict := "holds"
		switch {
		case c.Steps == 0:
			verdict = "no step could be read"
		case len(c.Violations) > 0:
			verdict = "does not hold"
		case c.Error != "":
			verdict = "cannot be read"
		}
		if c.Error != "" {
			verdict += ": " + c.Error
		}
		footer := "yes"
		if c.MissingFooter {
			footer = "no"
		}
		t.Rows = append(t.Rows, []string{c.Path, verdict, unit.Count(c.Steps), unit.Count(c.Dropped), unit.Count(c.BadLines), footer})
		for _, name := range slices.Sorted(maps.Keys(c.Violations)) {
			v := c.Violations[name]
			found.Rows = append(found.Rows, []string{c.Path, name, unit.Count(v.Count), unit.Count(v.FirstStep), v.Detail})
		}
	}
	return []page.Block{t, found}
}

func (r *Report) streams() page.Table {
	t := page.Table{Columns: []page.Column{{Name: "stream"}, {Name: "size", Number: true}, {Name: "lines", Number: true}, {Name: "bad lines", Number: true}, {Name: "last line"}}}
	for _, s := range r.Run.Streams {
		tail := "whole"
		if s.TornTail {
			tail = "cut off"
		}
		t.Rows = append(t.Rows, []string{s.Path, unit.Bytes(s.Bytes), unit.Count(s.Lines), unit.Count(s.BadLines), tail})
	}
	return t
}

func (r *Report) definitions() page.Table {
	t := page.Table{Columns: page.TextColumns("figure", "unit", "from", "meaning")}
	for _, d := range r.Definitions {
		t.Rows = append(t.Rows, []string{d.Part + ": " + d.Name, d.Unit, d.Source, d.Text})
	}
	return t
}
