package runreport

import (
	"fmt"
	"math"
	"strings"

	"opprof/campaign/figure"
	"opprof/campaign/page"
	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/engine/unit"
)

// track is a plot over the columns of the run.
type track struct {
	title, caption, axis string
	log                  bool
	lines                []quantity // the first is drawn solid, the second dashed, the third dotted
	low, high            int        // lines that the band lies between; -1 for none
}

// quantity is a value of each column that has a step.
type quantity struct {
	name, unit string
	of         func(*store.Column) *float64 // nil where it is not known
	print      func(float64) string
}

// tracks are the plots over time.
func (r *Report) tracks() []track {
	seconds := float64(r.Frame.BucketNS) / 1e9
	ms := func(pick func(*store.Quantiles) *int64) func(*store.Column) *float64 {
		return func(c *store.Column) *float64 {
			p := pick(&c.Period)
			if p == nil {
				return nil
			}
			return known(float64(*p) / 1e6)
		}
	}
	number := func(name, of string, f func(*store.Counts) float64) quantity {
		return quantity{name, of, func(c *store.Column) *float64 { return known(f(&c.Counts)) }, unit.Number}
	}
	whole := func(name, of string, f func(*store.Counts) int64) quantity {
		return quantity{name, of, func(c *store.Column) *float64 { return known(float64(f(&c.Counts))) }, func(v float64) string { return unit.Count(int64(v)) }}
	}
	per := func(name, of string, f func(*store.Counts) int64) quantity {
		return number(name, of, func(c *store.Counts) float64 { return float64(f(c)) / seconds })
	}
	each := func(name, of string, f func(*store.Counts) float64) quantity {
		return number(name, of, func(c *store.Counts) float64 { return f(c) / float64(c.Steps) })
	}
	printMS := func(v float64) string { return unit.DurationMS(int64(math.Round(v * 1e6))) }
	return []track{
		{"Step period", "line p50, band to p95, dashed max", "ms", true, []quantity{
			{"p50", "ms", ms(func(q *store.Quantiles) *int64 { return q.P50NS }), printMS}, {"max", "ms", ms(func(q *store.Quantiles) *int64 { return q.MaxNS }), printMS},
			{"p95", "ms", ms(func(q *store.Quantiles) *int64 { return q.P95NS }), printMS}}, 0, 2},
		{"Decode", "tokens computed for the first time", "tokens/s", false, []quantity{per("tokens", "per s", newDecode)}, -1, -1},
		{"Prefill", "prompt tokens", "tokens/s", false, []quantity{per("tokens", "per s", func(c *store.Counts) int64 { return c.PrefillTokens })}, -1, -1},
		{"Decode batch", "line mean, band and dashed to the max", "requests", false, []quantity{
			each("mean", "requests", func(c *store.Counts) float64 { return float64(c.DecodeRequests) }),
			whole("max", "requests", func(c *store.Counts) int64 { return c.DecodeBatchMax })}, 0, 1},
		{"KV usage", "line mean, band and dashed to the max", "%", false, []quantity{
			each("mean", "%", func(c *store.Counts) float64 { return 100 * c.KVUsageSum }), number("max", "%", func(c *store.Counts) float64 { return 100 * c.KVUsageMax })}, 0, 1},
		{"Running requests", "line mean, band and dashed to the max", "requests", false, []quantity{
			each("mean", "requests", func(c *store.Counts) float64 { return float64(c.RunningSum) }),
			whole("max", "requests", func(c *store.Counts) int64 { return c.RunningMax })}, 0, 1},
		{"Waiting requests", "line mean, band and dashed to the max", "requests", false, []quantity{
			each("mean", "requests", func(c *store.Counts) float64 { return float64(c.WaitingSum) }),
			whole("max", "requests", func(c *store.Counts) int64 { return c.WaitingMax })}, 0, 1},
		{"CUDA graphs", "share of steps: line FULL, dashed PIECEWISE, dotted NONE", "% of known", false, []quantity{
			graphShare("FULL", record.GraphFull), graphShare("PIECEWISE", record.GraphPiecewise), graphShare("NONE", record.GraphNone)}, -1, -1},
		{"Prefix hits", "share of looked-up tokens", "%", false, []quantity{{"share", "%", func(c *store.Column) *float64 {
			if c.Counts.Local.Queries == 0 {
				return nil
			}
			return known(100 * float64(c.Counts.Local.Hits) / float64(c.Counts.Local.Queries))
		}, unit.Number}}, -1, -1},
		{"Events", "per column: line preemptions, dashed stalls, dotted gaps", "count", false, []quantity{
			whole("preemptions", "", func(c *store.Counts) int64 { return c.Preemptions }), whole("stalls", "", func(c *store.Counts) int64 { return c.Stalls }),
			whole("gaps", "", func(c *store.Counts) int64 { return c.Gaps })}, -1, -1},
	}
}

func known(v float64) *float64 { return &v }

func graphShare(name string, m record.GraphMode) quantity {
	return quantity{name, "%", func(c *store.Column) *float64 {
		steps := c.Counts.Steps - c.Counts.Graph[record.GraphUnknown]
		if steps == 0 {
			return nil
		}
		return known(100 * float64(c.Counts.Graph[m]) / float64(steps))
	}, unit.Number}
}

// overTime are the plots, or else a word, and all their values as a table.
func (r *Report) overTime(plots bool) ([]page.Block, error) {
	f := r.Frame
	out := []page.Block{page.Text(fmt.Sprintf("%d columns of %s each. A gap is a time in which no step completed. w marks the start of a profiler window, during which steps are slower.",
		len(f.Columns), unit.Duration(f.BucketNS)))}
	tracks := r.tracks()
	if plots {
		var figures page.Plots
		for i := range tracks {
			p, err := r.plot(&tracks[i])
			if err != nil {
				return nil, err
			}
			figures = append(figures, p)
		}
		out = append(out, figures)
	}
	return append(out, page.Fold{Title: "The same in numbers", Blocks: []page.Block{r.columnTable(tracks)}, ScreenOnly: true}), nil
}

func (r *Report) plot(t *track) (page.Plot, error) {
	f := r.Frame
	line := figure.Timeline{What: t.title + " over the run: " + t.caption, Y: t.axis, FromNS: f.FromNS, ToNS: f.ToNS, Zone: r.Zone, Log: t.log}
	for _, q := range t.lines {
		values := make([]float64, len(f.Columns))
		for i := range f.Columns {
			values[i] = math.NaN()
			if v := q.at(&f.Columns[i]); v != nil {
				values[i] = *v
			}
		}
		line.Lines = append(line.Lines, figure.Line{Name: q.name, Values: values})
	}
	if t.low >= 0 {
		line.Low, line.High = line.Lines[t.low].Values, line.Lines[t.high].Values
	}
	if t.high == 2 { // the third is the edge of the band only
		line.Lines = line.Lines[:2]
	}
	for i := range f.Columns {
		line.Texts = append(line.Texts, r.said(t, &f.Columns[i]))
	}
	for _, w := range f.Windows {
		line.Notes = append(line.Notes, figure.Note{AtNS: w.StartNS, Letter: "w"})
	}
	svg, err := line.SVG()
	return page.Plot{Title: t.title, Caption: t.caption, SVG: svg}, err
}

// at is the quantity in a column; nil where no step completed or it is not known.
func (q *quantity) at(c *store.Column) *float64 {
	if c.Counts.Steps == 0 {
		return nil
	}
	return q.of(c)
}

func (q *quantity) text(c *store.Column) string {
	v := q.at(c)
	if v == nil {
		return unit.Unknown
	}
	return q.print(*v)
}

// said is what the pointer tells of a column.
func (r *Report) said(t *track, c *store.Column) string {
	text := r.clock(c)
	if c.Counts.Steps == 0 {
		return text + "  " + silence(c.Silence)
	}
	for i := range t.lines {
		q := &t.lines[i]
		text += "  " + strings.TrimSpace(q.name+" "+q.text(c)+" "+q.unit)
	}
	if c.Perturbed {
		text += "  profiler"
	}
	return text
}

func (r *Report) clock(c *store.Column) string {
	if r.Frame.ToNS-r.Frame.FromNS > dayNS {
		return unit.Date(c.StartNS, r.Zone)
	}
	if r.Frame.BucketNS < secondNS {
		return unit.Clock(c.StartNS, r.Zone)
	}
	return unit.ClockSeconds(c.StartNS, r.Zone)
}

const (
	secondNS = 1_000_000_000
	dayNS    = 24 * 3600 * secondNS
)

func silence(s store.Silence) string {
	switch s {
	case store.SilenceIdle:
		return "idle"
	case store.SilenceStep:
		return "one step went on"
	case store.SilenceMissing:
		return "no record of its steps"
	}
	return "outside of the run"
}

// columnTable has a line for each column of the plots.
func (r *Report) columnTable(tracks []track) page.Table {
	t := page.Table{Columns: []page.Column{{Name: "from"}, {Name: "steps", Number: true}}}
	for _, k := range tracks {
		for _, q := range k.lines {
			t.Columns = append(t.Columns, page.Column{Name: k.title + " " + q.name, Unit: q.unit, Number: true})
		}
	}
	for i := range r.Frame.Columns {
		c := &r.Frame.Columns[i]
		row := []string{r.clock(c), unit.Count(c.Counts.Steps)}
		for _, k := range tracks {
			for n := range k.lines {
				row = append(row, k.lines[n].text(c))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
