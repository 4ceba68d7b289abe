package calibrate

import (
	"context"
	"math"

	"opprof/traces/family"
)

// Seen are the ranges of what was seen in one graph mode.
type Seen struct {
	Steps   int   `json:"steps"`
	Decode  Range `json:"decode"`
	Prefill Range `json:"prefill"`
	Context Range `json:"context"` // of all requests together, in tokens
	// Requests are those in decode and in prefill; Bucket are tokens that the kernels ran for, padding included.
	Requests Range `json:"requests"`
	Bucket   Range `json:"bucket_tokens"`
}

// Calibration is what the windows of servers of one size teach.
type Calibration struct {
	Set    *Set
	Models *Models
	Held   *HeldOut
	Seen   map[string]Seen // by graph mode
	Table  []Row
	hull   *Hull
}

// New calibrates by the samples of a set.
func New(set *Set) *Calibration {
	c, _ := learn(context.Background(), set) // a context that does not end gives no error
	return c
}

func learn(ctx context.Context, set *Set) (*Calibration, error) {
	held, err := holdOut(ctx, set)
	if err != nil {
		return nil, err
	}
	c := &Calibration{Set: set, Models: Fit(set.Samples), Held: held, Seen: map[string]Seen{}, Table: NewTable(set.Samples), hull: NewHull(set.Samples)}
	for i := range set.Samples {
		x := &set.Samples[i].Composition
		s, ok := c.Seen[x.Graph]
		if !ok {
			at := func(v float64) Range { return Range{v, v} }
			s = Seen{Decode: at(x.Decode), Prefill: at(x.Prefill), Context: at(x.Context), Requests: at(x.Requests), Bucket: at(x.Work())}
		}
		s.Steps++
		s.Decode, s.Prefill, s.Context = s.Decode.with(x.Decode), s.Prefill.with(x.Prefill), s.Context.with(x.Context)
		s.Requests, s.Bucket = s.Requests.with(x.Requests), s.Bucket.with(x.Work())
		c.Seen[x.Graph] = s
	}
	return c, nil
}

func (r Range) with(v float64) Range { return Range{min(r.Min, v), max(r.Max, v)} }

// Report is a calibration as opprof calibrate --json prints it. Times are in nanoseconds, of the rank with the most work, without its waiting in collectives.
type Report struct {
	Schema  int         `json:"schema"`
	LeftOut LeftOut     `json:"left_out"`
	Sets    []SetReport `json:"sets"` // one for each number of ranks
}

// SetReport is the calibration of servers of one size.
type SetReport struct {
	Ranks        int             `json:"ranks"`
	Windows      []string        `json:"windows"`
	Steps        int             `json:"steps"`
	Seen         map[string]Seen `json:"seen"` // by graph mode
	Table        []Row           `json:"table"`
	TableHeld    ErrorReport     `json:"table_held_out"`
	TableMissing int             `json:"table_missing_steps"` // steps whose cell no other window has
	Models       []ModelReport   `json:"models"`
	Busy         ErrorReport     `json:"busy_held_out"` // of the sum of the models
	Answer       *Answer         `json:"answer"`        // null without a question
	Refusal      string          `json:"refusal"`       // why there is no answer
}

// ModelReport is the model of one family.
type ModelReport struct {
	Family     string       `json:"family"`
	Terms      []TermReport `json:"terms"`
	Saturation *float64     `json:"saturation_tokens"` // tokens after which 63 % of the weights are touched; null without that term
	Held       ErrorReport  `json:"held_out"`
}

// TermReport is one term: its coefficient a unit.
type TermReport struct {
	Name string  `json:"name"`
	Unit string  `json:"unit"`
	NS   float64 `json:"ns"`
}

// ErrorReport are errors on held-out windows.
type ErrorReport struct {
	Windows  int           `json:"windows"`
	MeanPct  *float64      `json:"mean_pct"` // mean of the windows' absolute errors, relative to what was measured; null without windows
	MaxPct   *float64      `json:"max_pct"`
	Inside   int           `json:"windows_inside"` // of those, whose steps the other windows cover
	MeanIn   *float64      `json:"mean_inside_pct"`
	ByWindow []WindowPoint `json:"by_window"`
}

// WindowPoint is the error on one window.
type WindowPoint struct {
	Window string  `json:"window"`
	Inside bool    `json:"inside"`
	Pct    float64 `json:"error_pct"`       // of the prediction, geometric mean over the steps
	Spread float64 `json:"step_spread_pct"` // standard deviation over the steps
	Steps  int     `json:"steps"`
}

// NewReport calibrates every set and asks each the question; nil asks none.
func NewReport(sets []Set, left LeftOut, q *Question) Report {
	out := Report{Schema: 1, LeftOut: left, Sets: []SetReport{}}
	for i := range sets {
		c := New(&sets[i])
		r := c.Report()
		if q != nil {
			a, err := c.Ask(*q)
			if err != nil {
				r.Refusal = err.Error()
			} else {
				r.Answer = &a
			}
		}
		out.Sets = append(out.Sets, r)
	}
	return out
}

// Report is the calibration without a question.
func (c *Calibration) Report() SetReport {
	r := SetReport{Ranks: c.Set.Ranks, Windows: c.Set.Windows, Steps: len(c.Set.Samples), Seen: c.Seen, Table: c.Table, Models: []ModelReport{}, Busy: errorReport(c.Held.Busy)}
	held, missing := TableErrors(c.Set)
	r.TableHeld, r.TableMissing = errorReport(held), missing
	for f := range family.Count {
		if c.Models[f].NS != [termCount]float64{} {
			r.Models = append(r.Models, c.model(f))
		}
	}
	return r
}

func (c *Calibration) model(f family.Family) ModelReport {
	m := &c.Models[f]
	out := ModelReport{Family: f.String(), Held: errorReport(c.Held.Family[f])}
	terms := Terms()
	for _, i := range termsOf(f) {
		out.Terms = append(out.Terms, TermReport{terms[i].Name, terms[i].Unit, m.NS[i]})
	}
	if m.NS[weightsTouched] > 0 {
		out.Saturation = &m.Saturation
	}
	return out
}

func errorReport(errors []WindowError) ErrorReport {
	r := ErrorReport{Windows: len(errors), ByWindow: []WindowPoint{}}
	var inside []WindowError
	for _, e := range errors {
		r.ByWindow = append(r.ByWindow, WindowPoint{e.Window, e.Inside, 100 * math.Expm1(-e.LogErr), 100 * e.Spread, e.Steps})
		if e.Inside {
			inside = append(inside, e)
		}
	}
	r.Inside = len(inside)
	percent := func(v float64) *float64 { v *= 100; return &v }
	if mean, largest, ok := MeanAbs(errors); ok {
		r.MeanPct, r.MaxPct = percent(mean), percent(largest)
	}
	if mean, _, ok := MeanAbs(inside); ok {
		r.MeanIn = percent(mean)
	}
	return r
}
