package query

import (
	"github.com/expr-lang/expr/ast"

	"opprof/engine/record"
)

// arithmetic is an operand that is computed of others; not ok for what needs the machine.
func (t translator) arithmetic(n ast.Node) (operand, bool) {
	switch n := n.(type) {
	case *ast.BinaryNode:
		a, ok1 := t.operand(n.Left)
		b, ok2 := t.operand(n.Right)
		if !ok1 || !ok2 || n.Operator != "+" && n.Operator != "-" && n.Operator != "*" && n.Operator != "/" {
			return operand{}, false
		}
		return operand{read: folded([]operand{a, b}, func(x, y number) number { return x.with(n.Operator, y) })}, true
	case *ast.BuiltinNode:
		if n.Name != "min" && n.Name != "max" || len(n.Arguments) == 0 {
			return operand{}, false
		}
		var all []operand
		for _, arg := range n.Arguments {
			o, ok := t.operand(arg)
			if !ok {
				return operand{}, false
			}
			all = append(all, o)
		}
		less := n.Name == "min"
		return operand{read: folded(all, func(x, y number) number {
			if less && y.holds("<", x) || !less && x.holds("<", y) {
				return y
			}
			return x
		})}, true
	}
	return operand{}, false
}

// folded reads operands from the left to the right; one that is unknown makes the result unknown.
func folded(all []operand, with func(x, y number) number) reader {
	return func(s *record.Step, periodNS *int64) (number, bool) {
		x, ok := all[0].of(s, periodNS)
		for _, o := range all[1:] {
			y, known := o.of(s, periodNS)
			if !known {
				return y, false
			}
			x = with(x, y)
		}
		return x, ok
	}
}

// with computes as the machine does: two integers stay integers, but for a division.
func (a number) with(op string, b number) number {
	if op == "/" {
		return broken(a.f / b.f)
	}
	if a.isFloat || b.isFloat {
		return broken(compute(op, a.f, b.f))
	}
	return whole(compute(op, a.i, b.i))
}

func compute[T int64 | float64](op string, a, b T) T {
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	}
	return a * b
}
