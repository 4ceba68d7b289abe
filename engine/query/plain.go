package query

import (
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

	"opprof/engine/record"
)

// condition is an expression in the form that is asked fast: comparisons of fields with each other and with constants, joined by and, or and
// not. Other expressions have none and are run by the machine, which answers the same.
type condition interface {
	ask(s *record.Step, periodNS *int64) Answer
	// over is what the expression may answer for steps of which only ranges are known.
	over(ranges func(field string) (Range, bool)) outcomes
}

// outcomes is a set of answers: bit 1<<Answer.
type outcomes uint8

const (
	onlyNo   = outcomes(1 << No)
	onlyYes  = outcomes(1 << Yes)
	unknowns = outcomes(1 << Unknown)
	anything = onlyNo | onlyYes | unknowns
)

// plainOf translates an expression; nil where it says more than a condition can.
func plainOf(text string) condition {
	tree, err := parser.Parse(text)
	if err != nil {
		return nil
	}
	return translator{readers()}.node(tree.Node)
}

type translator struct{ fields map[string]reader }

func (t translator) node(n ast.Node) condition {
	switch n := n.(type) {
	case *ast.BinaryNode:
		switch n.Operator {
		case "&&", "and", "||", "or":
			a, b := t.node(n.Left), t.node(n.Right)
			if a == nil || b == nil {
				return nil
			}
			return joined{a, b, n.Operator == "||" || n.Operator == "or"}
		}
		return t.comparison(n)
	case *ast.UnaryNode:
		if n.Operator != "!" && n.Operator != "not" {
			return nil
		}
		if c := t.node(n.Node); c != nil {
			return not{c}
		}
	case *ast.IdentifierNode:
		if n.Value == "model_executed" {
			return executed{}
		}
	}
	return nil
}

func (t translator) comparison(n *ast.BinaryNode) condition {
	if !slices.Contains([]string{"<", "<=", ">", ">=", "==", "!="}, n.Operator) {
		return nil
	}
	if c := modeComparison(n); c != nil {
		return c
	}
	a, ok1 := t.operand(n.Left)
	b, ok2 := t.operand(n.Right)
	if !ok1 || !ok2 {
		return nil
	}
	return comparison{a, b, n.Operator}
}

func modeComparison(n *ast.BinaryNode) condition {
	field, text := n.Left, n.Right
	if nameOf(field) == "" {
		field, text = text, field
	}
	value, ok := text.(*ast.StringNode)
	if !ok || nameOf(field) != "graph.mode" || n.Operator != "==" && n.Operator != "!=" {
		return nil
	}
	return mode{value.Value, n.Operator == "!="}
}

// nameOf is the name of a field, "" for what is none. What is called as records call it has the name of Fields.
func nameOf(n ast.Node) string {
	name := written(n)
	if own, ok := recordNames()[name]; ok {
		return own
	}
	return name
}

// written is a name as it stands in the expression.
func written(n ast.Node) string {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return n.Value
	case *ast.MemberNode:
		parent, name := written(n.Node), n.Property
		if text, ok := name.(*ast.StringNode); ok && parent != "" && !n.Method {
			return parent + "." + text.Value
		}
	}
	return ""
}

// operand is one side of a comparison: a field, a constant, or what is computed of them.
type operand struct {
	field string // "" for what is no field
	read  reader // nil for a constant
	value number
}

func (t translator) operand(n ast.Node) (operand, bool) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return operand{value: whole(int64(n.Value))}, true
	case *ast.FloatNode:
		return operand{value: broken(n.Value)}, true
	case *ast.UnaryNode:
		if o, ok := t.operand(n.Node); ok && o.read == nil && n.Operator == "-" {
			return operand{value: o.value.minus()}, true
		}
		return operand{}, false
	}
	if name := nameOf(n); name != "" {
		read, ok := t.fields[name]
		return operand{field: name, read: read}, ok
	}
	return t.arithmetic(n)
}

func (o operand) of(s *record.Step, periodNS *int64) (number, bool) {
	if o.read == nil {
		return o.value, true
	}
	return o.read(s, periodNS)
}

type comparison struct {
	a, b operand
	op   string
}

func (c comparison) ask(s *record.Step, periodNS *int64) Answer {
	a, ok := c.a.of(s, periodNS)
	if !ok {
		return Unknown
	}
	b, ok := c.b.of(s, periodNS)
	if !ok {
		return Unknown
	}
	return answer(a.holds(c.op, b))
}

func answer(yes bool) Answer {
	if yes {
		return Yes
	}
	return No
}

// joined is two conditions with and, or with or. The second is asked only where the first does not decide.
type joined struct {
	a, b condition
	or   bool
}

// deciding is the answer of the first condition behind which the second is not asked.
func (j joined) deciding() Answer { return answer(j.or) }

func (j joined) ask(s *record.Step, periodNS *int64) Answer {
	if a := j.a.ask(s, periodNS); a == Unknown || a == j.deciding() {
		return a
	}
	return j.b.ask(s, periodNS)
}

type not struct{ c condition }

func (n not) ask(s *record.Step, periodNS *int64) Answer {
	switch n.c.ask(s, periodNS) {
	case Yes:
		return No
	case No:
		return Yes
	}
	return Unknown
}

type executed struct{}

func (executed) ask(s *record.Step, _ *int64) Answer { return answer(s.ModelExecuted) }

// mode compares the graph mode with a name.
type mode struct {
	name  string
	other bool // it shall be another one
}

func (m mode) ask(s *record.Step, _ *int64) Answer {
	if !s.Known(record.HasGraph) {
		return Unknown
	}
	return answer((s.Graph.Mode.String() == m.name) != m.other)
}
