package query

import "slices"

// Range is what is known of a field over many steps.
type Range struct {
	Min, Max float64  // enclose the values of all steps that have the field; Min > Max: none has
	Texts    []string // all values that may occur, for a field that is a text
	Missing  bool     // steps may lack the field
}

// Excludes reports that every one of many steps answers no, as far as ranges of their fields tell: such steps need not be read. ranges is
// not ok for a field of which nothing is known.
func (q *Query) Excludes(ranges func(field string) (Range, bool)) bool {
	return q.plain != nil && q.plain.over(ranges) == onlyNo
}

func (j joined) over(ranges func(string) (Range, bool)) outcomes {
	a, b := j.a.over(ranges), j.b.over(ranges)
	decided := a & (1 << j.deciding())
	if a&^(decided|unknowns) == 0 {
		return a // the second is never asked
	}
	return decided | a&unknowns | b
}

func (n not) over(ranges func(string) (Range, bool)) outcomes {
	in := n.c.over(ranges)
	out := in & unknowns
	if in&onlyYes != 0 {
		out |= onlyNo
	}
	if in&onlyNo != 0 {
		out |= onlyYes
	}
	return out
}

func (executed) over(func(string) (Range, bool)) outcomes { return onlyNo | onlyYes }

func (m mode) over(ranges func(string) (Range, bool)) outcomes {
	r, ok := ranges("graph.mode")
	if !ok {
		return anything
	}
	out := missing(r)
	for _, text := range r.Texts {
		out |= 1 << answer((text == m.name) != m.other)
	}
	return out
}

func missing(r Range) outcomes {
	if r.Missing {
		return unknowns
	}
	return 0
}

// turned is an operator with its sides changed.
func turned(op string) string {
	switch op {
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	}
	return op
}

func (c comparison) over(ranges func(string) (Range, bool)) outcomes {
	field, value, op := c.a, c.b, c.op
	if field.read == nil {
		field, value, op = c.b, c.a, turned(op)
	}
	if field.field == "" || value.read != nil || !value.value.exact() {
		return anything
	}
	r, ok := ranges(field.field)
	if !ok {
		return anything
	}
	return missing(r) | within(r, op, value.value.f)
}

// within is what comparing the values in a range with a constant may answer.
func within(r Range, op string, value float64) outcomes {
	if r.Min > r.Max {
		return 0
	}
	if op == "==" || op == "!=" {
		inside, alone := r.Min <= value && value <= r.Max, r.Min == value && r.Max == value
		equal, unequal := onlyYes, onlyNo
		if op == "!=" {
			equal, unequal = onlyNo, onlyYes
		}
		switch {
		case alone:
			return equal
		case inside:
			return equal | unequal
		}
		return unequal
	}
	ends := []bool{holds(op, r.Min, value), holds(op, r.Max, value)}
	out := outcomes(0)
	if slices.Contains(ends, true) {
		out |= onlyYes
	}
	if slices.Contains(ends, false) {
		out |= onlyNo
	}
	return out
}
