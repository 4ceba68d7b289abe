// Package query is the one language in which a step is described: by a trigger that arms a window, by a search through a run. An
// expression such as "prefill_tokens > 4096 && kv.usage > 0.9" is compiled once and asked of many steps.
package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"opprof/engine/record"
)

// Answer is what an expression says of a step.
type Answer uint8

const (
	No Answer = iota
	Yes
	Unknown // the step lacks a value that the expression needs: neither yes nor no
)

// Query is a compiled expression. It is not safe for concurrent use: Clone it for another goroutine.
type Query struct {
	text    string
	plain   condition // nil where it needs the machine
	program *vm.Program
	machine vm.VM
	env     *environment
}

// MaxLength bounds an expression, in bytes.
const MaxLength = 2000

// Compile reads an expression over the fields of Fields. An error says where it went wrong and which names there are.
func Compile(text string) (*Query, error) {
	if len(text) > MaxLength {
		return nil, fmt.Errorf("the expression has %d bytes: expected at most %d", len(text), MaxLength)
	}
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("the expression is empty: for example decode_batch_size >= 32 && prefill_tokens == 0")
	}
	program, err := expr.Compile(text, expr.Env(&environment{}), expr.AsBool(), expr.DisableAllBuiltins(), expr.MaxNodes(500),
		expr.EnableBuiltin("abs"), expr.EnableBuiltin("min"), expr.EnableBuiltin("max"), expr.EnableBuiltin("sum"),
		expr.Function(knownName, known), expr.Patch(renamer{}), expr.Patch(knower{}))
	if err != nil {
		return nil, explain(text, err)
	}
	return &Query{text: text, plain: plainOf(text), program: program, env: &environment{}}, nil
}

// knownName is the function that stands around a field that may be unknown. The name cannot be typed by accident.
const knownName = "__known"

var errUnknown = errors.New("the step does not tell")

// known ends a run with an error where a value is unknown. Without it, comparing for equality would find nil unequal to everything, and a step
// that lacks the field would match.
func known(values ...any) (any, error) {
	if len(values) != 1 || values[0] == nil {
		return nil, errUnknown
	}
	return values[0], nil
}

// renamer gives fields that are called as records call them the names that the environment has.
type renamer struct{}

// Visit implements ast.Visitor.
func (renamer) Visit(n *ast.Node) {
	own, ok := recordNames()[written(*n)]
	if !ok {
		return
	}
	group, name, grouped := strings.Cut(own, ".")
	if !grouped {
		ast.Patch(n, &ast.IdentifierNode{Value: own})
		return
	}
	ast.Patch(n, &ast.MemberNode{Node: &ast.IdentifierNode{Value: group}, Property: &ast.StringNode{Value: name}})
}

// knower puts known around the fields that may be unknown.
type knower struct{}

// Visit implements ast.Visitor.
func (knower) Visit(n *ast.Node) {
	name := nameOf(*n)
	if name == "" || !slices.ContainsFunc(Fields(), func(f Field) bool { return f.May && f.Name == name }) {
		return
	}
	ast.Patch(n, &ast.CallNode{Callee: &ast.IdentifierNode{Value: knownName}, Arguments: []ast.Node{*n}})
}

// explain turns a compiler's error into a sentence with the column, and names the nearest field for a misspelled one.
func explain(text string, err error) error {
	message, column := err.Error(), 0
	if e, ok := err.(*file.Error); ok {
		message, column = e.Message, e.Column+1
	}
	if kind, name, ok := strings.Cut(message, " has no field "); ok { // of one of the groups, which the compiler knows by its type
		name, _, _ = strings.Cut(kind[strings.LastIndexByte(kind, '.')+1:]+"."+name, " ")
		return fmt.Errorf("expression %q, column %d: there is no field %s; nearest: %s", text, column, name, nearest(name))
	}
	message = strings.ReplaceAll(message, "query.", "") // the compiler knows groups of fields by their types
	if _, name, ok := strings.Cut(message, "unknown name "); ok {
		name, _, _ = strings.Cut(name, " ")
		return fmt.Errorf("expression %q, column %d: there is no field %s; nearest: %s", text, column, name, nearest(name))
	}
	return fmt.Errorf("expression %q, column %d: %s", text, column, message)
}

// nearest are the up to three field names that share the most letters in order with a name.
func nearest(name string) string {
	names := make([]string, 0, len(Fields()))
	for _, f := range Fields() {
		names = append(names, f.Name)
	}
	slices.SortStableFunc(names, func(a, b string) int { return likeness(b, name) - likeness(a, name) })
	return strings.Join(names[:3], ", ")
}

// likeness is the length of the longest common subsequence, minus a part of what is left over.
func likeness(a, b string) int {
	prev := make([]int, len(b)+1)
	for i := range a {
		row := make([]int, len(b)+1)
		for j := range b {
			if a[i] == b[j] {
				row[j+1] = prev[j] + 1
			} else {
				row[j+1] = max(row[j], prev[j+1])
			}
		}
		prev = row
	}
	return 4*prev[len(b)] - len(a) - len(b)
}

// String is the expression as it was written.
func (q *Query) String() string { return q.text }

// Clone is the same query for another goroutine.
func (q *Query) Clone() *Query {
	return &Query{text: q.text, plain: q.plain, program: q.program, env: &environment{}}
}

// Ask answers for one step. periodNS is its step period, nil when unknown.
func (q *Query) Ask(s *record.Step, periodNS *int64) Answer {
	if q.plain != nil {
		return q.plain.ask(s, periodNS)
	}
	return q.run(s, periodNS)
}

// run asks the machine.
func (q *Query) run(s *record.Step, periodNS *int64) Answer {
	q.env.set(s, periodNS)
	out, err := q.machine.Run(q.program, q.env)
	if err != nil {
		return Unknown
	}
	if yes, ok := out.(bool); ok && yes {
		return Yes
	}
	return No
}
