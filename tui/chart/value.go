package chart

import "math"

// Value is one figure of a chart. The zero Value is unknown and drawn as a gap.
type Value struct {
	V     float64
	Known bool
}

// Of returns a known value. NaN and infinities are unknown: there is no place to draw them.
func Of(v float64) Value { return Value{V: v, Known: !math.IsNaN(v) && !math.IsInf(v, 0)} }

// OfInt returns the value of p, unknown when nil.
func OfInt(p *int64) Value {
	if p == nil {
		return Value{}
	}
	return Of(float64(*p))
}

// Scale returns v times f; unknown stays unknown.
func (v Value) Scale(f float64) Value {
	if !v.Known {
		return v
	}
	return Of(v.V * f)
}

func highest(values []Value) (float64, bool) {
	top, ok := math.Inf(-1), false
	for _, v := range values {
		if v.Known && v.V > top {
			top, ok = v.V, true
		}
	}
	return top, ok
}
