package calibrate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"opprof/engine/record"
	"opprof/engine/unit"
	"opprof/traces/family"
)

// Question is a step that may never have run.
type Question struct {
	Decode          float64 // requests in decode
	Prefill         float64 // prompt tokens
	PrefillRequests float64
	Context         float64 // mean context length of a request
	Graph           string  // "" chooses the mode of the most alike step that was seen
	Bucket          float64 // 0 chooses the smallest that was seen and holds the tokens
}

// ParseQuestion reads "decode=48,context=8192": keys decode, prefill, prefill_requests, context, graph and bucket. A step needs tokens, and
// their context.
func ParseQuestion(text string) (Question, error) {
	var q Question
	fields := map[string]*float64{"decode": &q.Decode, "prefill": &q.Prefill, "prefill_requests": &q.PrefillRequests, "context": &q.Context, "bucket": &q.Bucket}
	const keys = "decode, prefill, prefill_requests, context, graph, bucket"
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || seen[key] {
			return q, fmt.Errorf("%q: expected KEY=VALUE, each of %s at most once", part, keys)
		}
		seen[key] = true
		if key == "graph" {
			q.Graph = strings.ToUpper(value)
			continue
		}
		field, ok := fields[key]
		if !ok {
			return q, fmt.Errorf("%q: expected one of %s", key, keys)
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || !(v >= 0 && v <= 1e9) {
			return q, fmt.Errorf("%s is %q: expected a number from 0 to 1e9", key, value)
		}
		*field = v
	}
	if q.Prefill > 0 && q.PrefillRequests == 0 {
		q.PrefillRequests = 1
	}
	if err := q.Check(); err != nil {
		return q, fmt.Errorf("%q: %w", text, err)
	}
	return q, nil
}

// Check says what a question lacks: a step needs tokens, and their context.
func (q Question) Check() error {
	switch {
	case q.Decode+q.Prefill == 0:
		return errors.New("expected decode requests or prefill tokens")
	case q.Context == 0:
		return errors.New("expected context, the mean context length of the requests in tokens")
	}
	return nil
}

// String is the question as ParseQuestion reads it.
func (q Question) String() string {
	var parts []string
	add := func(key string, v float64) {
		if v != 0 {
			parts = append(parts, key+"="+strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	add("decode", q.Decode)
	add("prefill", q.Prefill)
	if q.PrefillRequests != 1 || q.Prefill == 0 {
		add("prefill_requests", q.PrefillRequests)
	}
	add("context", q.Context)
	if q.Graph != "" {
		parts = append(parts, "graph="+q.Graph)
	}
	add("bucket", q.Bucket)
	return strings.Join(parts, ",")
}

// Estimate is a time with the interval that holds a further step with 95 %.
type Estimate struct {
	Name   string   `json:"name"`
	NS     float64  `json:"ns"`
	LowNS  *float64 `json:"low_ns"` // null beyond what was seen, and with fewer than three held-out windows
	HighNS *float64 `json:"high_ns"`
}

// Answer is what a step would cost.
type Answer struct {
	Graph    string     `json:"graph_mode"`
	Bucket   float64    `json:"bucket_tokens"`
	Decode   float64    `json:"decode"`
	Prefill  float64    `json:"prefill"`
	Context  float64    `json:"context"` // mean of a request
	Inside   bool       `json:"inside"`  // of what was seen: interpolated, not extrapolated
	Notes    []string   `json:"notes"`   // what was assumed, and what lies outside
	Families []Estimate `json:"families"`
	Busy     Estimate   `json:"busy"` // of the rank with the most work, without its waiting in collectives
	Cell     *Row       `json:"cell"` // of the table that the step belongs to: what was measured; null where nothing was
}

// Ask answers a question from the models of a set. Beyond what was seen there is an estimate and the reason why not to trust it, and no
// interval. A graph mode that never ran gives an error.
func (c *Calibration) Ask(q Question) (Answer, error) {
	x := Composition{Decode: q.Decode, Prefill: q.Prefill, Tokens: q.Decode + q.Prefill, Requests: q.Decode + q.PrefillRequests, Graph: q.Graph}
	x.Context = q.Context * x.Requests
	x.ContextMedian = contextBin(q.Context)
	var notes []string
	if x.Graph == "" {
		x.Graph = c.alike(&x)
		notes = append(notes, "graph mode "+x.Graph+": that of the most alike step that was seen")
	}
	if !slices.ContainsFunc(c.Set.Samples, func(s Sample) bool { return s.Graph == x.Graph }) {
		return Answer{}, fmt.Errorf("no step ran in graph mode %q: the modes are %s", x.Graph, strings.Join(c.modes(), ", "))
	}
	note, err := c.bucket(&x, q.Bucket)
	if err != nil {
		return Answer{}, err
	}
	if note != "" {
		notes = append(notes, note)
	}
	out := Answer{Graph: x.Graph, Bucket: x.Bucket, Decode: x.Decode, Prefill: x.Prefill, Context: q.Context, Inside: c.holds(&x), Notes: notes}
	out.Cell = c.cell(&x, out.Inside)
	switch n := len(c.Held.Busy); {
	case !out.Inside:
		out.Notes = append(c.outside(&x), out.Notes...)
	case n < MinWindows:
		out.Notes = append(out.Notes, fmt.Sprintf("no interval: it needs %d windows that can be held out, of %d", MinWindows, len(c.Set.Windows)))
	}
	for f := range family.Count {
		if c.Models[f].NS == [termCount]float64{} {
			continue
		}
		out.Families = append(out.Families, estimate(f.String(), c.Models[f].Predict(&x), c.Held.Family[f], out.Inside))
	}
	out.Busy = estimate(Busy, c.Models.Busy(&x), c.Held.Busy, out.Inside)
	return out, nil
}

func estimate(name string, ns float64, errors []WindowError, inside bool) Estimate {
	e := Estimate{Name: name, NS: ns}
	if half, ok := Interval(errors); ok && inside {
		low, high := ns*math.Exp(-half), ns*math.Exp(half)
		e.LowNS, e.HighNS = &low, &high
	}
	return e
}

// alike is the graph mode of the step nearest to x, of those that prefill if x does.
func (c *Calibration) alike(x *Composition) string {
	best, least := "", math.Inf(1)
	at := coordinates(x)
	for i := range c.Set.Samples {
		s := &c.Set.Samples[i].Composition
		d := 0.0
		if (s.Prefill > 0) != (x.Prefill > 0) {
			d = 1e12
		}
		for k, v := range coordinates(s) {
			d += (v - at[k]) * (v - at[k])
		}
		if d < least {
			best, least = s.Graph, d
		}
	}
	return best
}

func (c *Calibration) modes() []string {
	seen := map[string]bool{}
	var out []string
	for i := range c.Set.Samples {
		if g := c.Set.Samples[i].Graph; !seen[g] {
			seen[g] = true
			out = append(out, g)
		}
	}
	slices.Sort(out)
	return out
}

// bucket sets the tokens that the kernels would run for.
func (c *Calibration) bucket(x *Composition, asked float64) (note string, err error) {
	x.Bucket = x.Tokens
	switch {
	case asked != 0 && asked < x.Tokens:
		return "", fmt.Errorf("a bucket of %s tokens does not hold %s", rounded(asked), rounded(x.Tokens))
	case x.Graph == record.GraphNone.String():
		return "", nil
	case asked != 0:
		x.Bucket = asked
		return "", nil
	}
	least := math.Inf(1)
	for i := range c.Set.Samples {
		if s := &c.Set.Samples[i].Composition; s.Graph == x.Graph && s.Bucket >= x.Tokens {
			least = min(least, s.Bucket)
		}
	}
	if math.IsInf(least, 1) {
		return "no bucket of this many tokens was seen: without padding", nil
	}
	x.Bucket = least
	return "bucket " + rounded(least) + ": the smallest that was seen and holds the tokens", nil
}

// rounded prints a quantity that is whole, or an average.
func rounded(v float64) string { return unit.Count(int64(math.Round(v))) }

// holds reports whether a step lies within what was seen of its graph mode: in each quantity, and in all of them together.
func (c *Calibration) holds(x *Composition) bool {
	return len(c.beyond(x)) == 0 && c.hull.Holds(x)
}

// cell is the row of the table that a step belongs to; nil where no such step was seen. A question has the mean of its contexts, a row the
// median: with near, the row of the next bin is taken where that of the mean's own is empty.
func (c *Calibration) cell(x *Composition, near bool) *Row {
	want := cellOf(x)
	var best *Row
	for i := range c.Table {
		row, far := &c.Table[i], c.Table[i].order[placeOfContext]-want.order[placeOfContext]
		if row.Graph != want.Graph || [placeOfContext]int(row.order[:]) != [placeOfContext]int(want.order[:]) || far < -1 || far > 1 || far != 0 && !near || row.order[placeOfContext] < 0 {
			continue
		}
		if best == nil || far == 0 {
			best = row
		}
	}
	return best
}

// beyond names the quantities that the hull does not know and that lie outside of those of the step's graph mode.
func (c *Calibration) beyond(x *Composition) []string {
	seen := c.Seen[x.Graph]
	return outOf(x.Graph, seen.Requests.quantity("requests", x.Requests), seen.Bucket.quantity("tokens, padding included,", x.Work()))
}

// quantity is a figure of a question beside what was seen of it.
type quantity struct {
	name string
	v    float64
	r    Range
}

func (r Range) quantity(name string, v float64) quantity { return quantity{name, v, r} }

func outOf(graph string, all ...quantity) []string {
	var out []string
	for _, q := range all {
		if q.v < q.r.Min*(1-nearEdge) || q.v > q.r.Max*(1+nearEdge) {
			out = append(out, fmt.Sprintf("%s %s: %s to %s were seen in graph mode %s", q.name, rounded(q.v), rounded(q.r.Min), rounded(q.r.Max), graph))
		}
	}
	return out
}

// outside says in which quantity a step lies outside of those of its graph mode.
func (c *Calibration) outside(x *Composition) []string {
	seen := c.Seen[x.Graph]
	out := outOf(x.Graph, seen.Decode.quantity("decode", x.Decode), seen.Prefill.quantity("prefill", x.Prefill), seen.Context.quantity("context of all requests", x.Context))
	out = append(out, c.beyond(x)...)
	if len(out) == 0 {
		out = append(out, "each quantity was seen in graph mode "+x.Graph+", but not together")
	}
	return append(out, "extrapolated: no interval is known")
}
