package calibrate

import (
	"math"
	"slices"

	"opprof/traces/family"
)

// Term is one part of a step's time, in words that a reader of the coefficients can check.
type Term struct {
	Name string
	Unit string // what a coefficient is per
	of   func(c *Composition, saturation float64) float64
}

// Places of the terms in Terms.
const (
	perStep = iota
	weightsTouched
	perToken
	perContext
	perPrefill
	perRequest
	termCount
)

// Terms are what a step's kernels may cost. Weights that every token needs are read once however few tokens there are (step). Of weights that a
// token picks, few tokens touch few and many touch all (weights touched): with E experts and k of them a token, T tokens touch a share of
// 1-(1-k/E)^T. Arithmetic grows with the tokens, padding included; decode reads the context of every request; prefill works through the
// context for every one of its tokens; one token is sampled for every request.
func Terms() [termCount]Term {
	return [termCount]Term{
		{"step", "step", func(*Composition, float64) float64 { return 1 }},
		{"weights touched", "all weights", func(c *Composition, tokens float64) float64 { return -math.Expm1(-c.Tokens / tokens) }},
		{"tokens", "token", func(c *Composition, _ float64) float64 { return c.Work() }},
		{"context", "token of context", func(c *Composition, _ float64) float64 { return c.Context }},
		{"prefill x context", "token^2", func(c *Composition, _ float64) float64 { return c.Prefill * c.MeanContext() }},
		{"requests", "request", func(c *Composition, _ float64) float64 { return c.Requests }},
	}
}

// termsOf names the terms of a family: only attention sees the context, and only experts are picked. Terms without a cause fit what was seen
// and mislead beyond it.
func termsOf(f family.Family) []int {
	switch f {
	case family.Attention:
		return []int{perStep, perToken, perContext, perPrefill}
	case family.ExpertGEMM:
		return []int{perStep, weightsTouched, perToken}
	case family.Sampling:
		return []int{perStep, perRequest}
	}
	return []int{perStep, perToken}
}

// saturations are the numbers of tokens that are tried for how soon the weights are touched: about E/k of the model, and up to where the term
// can no longer be told from one that grows with the tokens.
func saturations() []float64 {
	var out []float64
	for v := 1.0; v <= 256; v *= math.Sqrt2 {
		out = append(out, v)
	}
	return out
}

// Model predicts one family: nanoseconds a unit of each term.
type Model struct {
	Family     family.Family
	NS         [termCount]float64 // by Terms; 0 where the family does not have the term
	Saturation float64            // tokens after which 63 % of the weights that tokens pick are touched; 0 where none are picked
}

// Predict is the time of the family in a step, in ns.
func (m *Model) Predict(c *Composition) float64 {
	var sum float64
	terms := Terms()
	for _, i := range termsOf(m.Family) {
		sum += m.NS[i] * terms[i].of(c, m.Saturation)
	}
	return sum
}

// Models predict all families. A step's busy time is their sum; what two families do at the same time counts twice, which is little on one
// stream.
type Models [family.Count]Model

// Fit fits every family to samples.
func Fit(samples []Sample) *Models {
	var out Models
	for f := range family.Count {
		out[f] = fit(f, samples)
	}
	return &out
}

// Busy is the name of the busy time of a whole step.
const Busy = "busy"

// Busy is the predicted busy time of a step, in ns.
func (m *Models) Busy(c *Composition) float64 {
	var sum float64
	for f := range m {
		sum += m[f].Predict(c)
	}
	return sum
}

// floorShare keeps steps in which a family does next to nothing from ruling its fit: relative errors count from this share of the target's mean.
const floorShare = 0.05

// fit is the model of a family with the least relative errors, every window counting the same.
func fit(f family.Family, samples []Sample) Model {
	best := Model{Family: f}
	weights, some := weigh(f, samples)
	if !some {
		return best
	}
	b := make([]float64, len(samples))
	for i := range samples {
		b[i] = samples[i].FamilyNS[f] * weights[i]
	}
	used, tried := termsOf(f), []float64{0}
	if slices.Contains(used, weightsTouched) {
		tried = saturations()
	}
	terms, least := Terms(), math.Inf(1)
	for _, saturation := range tried {
		a := make([][]float64, len(samples))
		for i := range samples {
			for _, t := range used {
				a[i] = append(a[i], terms[t].of(&samples[i].Composition, saturation)*weights[i])
			}
		}
		x := leastSquares(a, b)
		if off := squares(a, b, x); off < least*(1-1e-9) {
			least, best.Saturation = off, saturation
			for j, t := range used {
				best.NS[t] = x[j]
			}
		}
	}
	return best
}

// weigh makes errors relative and windows equal; false when the family takes no time at all.
func weigh(f family.Family, samples []Sample) ([]float64, bool) {
	var mean float64
	of := map[int]float64{}
	for i := range samples {
		mean += samples[i].FamilyNS[f] / float64(len(samples))
		of[samples[i].Window]++
	}
	out := make([]float64, len(samples))
	for i := range samples {
		out[i] = 1 / math.Max(samples[i].FamilyNS[f], floorShare*mean) / math.Sqrt(of[samples[i].Window])
	}
	return out, mean > 0
}

// squares is |Ax - b|^2.
func squares(a [][]float64, b, x []float64) float64 {
	var sum float64
	for k := range a {
		v := -b[k]
		for i := range x {
			v += x[i] * a[k][i]
		}
		sum += v * v
	}
	return sum
}

// Range is what was seen of one quantity.
type Range struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// Hull is what was seen: a question inside of it is answered by interpolation.
type Hull struct {
	points map[string][][]float64 // distinct coordinates, by graph mode
}

// coordinates are the quantities in which the model is nearly linear, on scales on which neighbours are alike.
func coordinates(c *Composition) []float64 {
	return []float64{c.Decode, math.Sqrt(c.Prefill), math.Sqrt(c.Context)}
}

// NewHull is the hull of samples.
func NewHull(samples []Sample) *Hull {
	h := &Hull{map[string][][]float64{}}
	for i := range samples {
		p := coordinates(&samples[i].Composition)
		g := samples[i].Graph
		if !slices.ContainsFunc(h.points[g], func(q []float64) bool { return slices.Equal(p, q) }) {
			h.points[g] = append(h.points[g], p)
		}
	}
	return h
}

// nearEdge is how far outside a point may lie, as a share of what was seen: context lengths are known to the width of a bin only.
const nearEdge = 0.05

// Holds reports whether a step lies within the convex hull of the steps of its graph mode.
func (h *Hull) Holds(c *Composition) bool {
	points := h.points[c.Graph]
	if len(points) == 0 {
		return false
	}
	// The point is held if weights >= 0 with the sum 1 make it of the points. Coordinates count by their range.
	p := coordinates(c)
	a, b := make([][]float64, len(p)+1), make([]float64, len(p)+1)
	for k := range p {
		r := rangeOf(points, k)
		width := math.Max(r.Max-r.Min, nearEdge*math.Max(r.Max, 1))
		a[k], b[k] = make([]float64, len(points)), (p[k]-r.Min)/width
		for i, q := range points {
			a[k][i] = (q[k] - r.Min) / width
		}
	}
	const sumWeight = 100 // the sum must hold, the rest may be off by nearEdge
	a[len(p)], b[len(p)] = make([]float64, len(points)), sumWeight
	for i := range points {
		a[len(p)][i] = sumWeight
	}
	return math.Sqrt(squares(a, b, leastSquares(a, b))) <= nearEdge
}

func rangeOf(points [][]float64, k int) Range {
	r := Range{points[0][k], points[0][k]}
	for _, p := range points {
		r = Range{min(r.Min, p[k]), max(r.Max, p[k])}
	}
	return r
}
