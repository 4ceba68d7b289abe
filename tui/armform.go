package tui

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/control"
	"opprof/engine/query"
	"opprof/engine/store"
	"opprof/tui/keys"
	"opprof/tui/panel"
)

// armForm orders windows that start later: at a step, every so many steps, after a time, or when an expression holds.
type armForm struct {
	kind   int // index into armKinds
	focus  int // 0 is the choice of the kind, then the fields of the kind
	fields map[armField]*field
	wrong  string // why the supervisor did not take the order
	sent   bool   // an order is out

	order  func(t control.Trigger, count int) tea.Cmd
	stand  func() *panel.Supervised
	newest func() *store.Frame
	zone   *time.Location
}

// armField names a field of the form.
type armField string

const (
	fieldStep  armField = "step"
	fieldEvery armField = "every"
	fieldAfter armField = "after"
	fieldExpr  armField = "when"
	fieldFor   armField = "for"
	fieldCount armField = "windows"
)

// armKind is a way to trigger a window, with the fields that it takes.
type armKind struct {
	kind, name string
	fields     []armField
}

func armKinds() []armKind {
	return []armKind{
		{control.TriggerStep, "at a step", []armField{fieldStep}},
		{control.TriggerEvery, "every N steps", []armField{fieldEvery, fieldCount}},
		{control.TriggerAfter, "after a time", []armField{fieldAfter}},
		{control.TriggerExpr, "on a condition", []armField{fieldExpr, fieldFor, fieldCount}},
	}
}

const (
	conditionKind = 3 // index of the last kind, which the form opens with
	figureMax     = 12
)

func (m *Model) newArmForm() *armForm {
	f := &armForm{kind: conditionKind, focus: 1, zone: m.opt.Zone, stand: m.standing, newest: func() *store.Frame { return m.newest },
		order: func(t control.Trigger, count int) tea.Cmd { return m.link.arm(m.ctx, t, count) }}
	const ahead = 1000
	step := "1000"
	if s := m.standing(); s != nil && s.Newest() > 0 {
		step = strconv.FormatInt((s.Newest()/100+1)*100+ahead, 10)
	}
	f.fields = map[armField]*field{}
	for name, initial := range map[armField]string{fieldStep: step, fieldEvery: "1000", fieldFor: "1", fieldCount: "1"} {
		x := newField(initial, figureMax, digit)
		x.proposed = true
		f.fields[name] = &x
	}
	after, expr := newField("30s", figureMax, nil), newField("", query.MaxLength, nil)
	after.proposed = true
	f.fields[fieldAfter], f.fields[fieldExpr] = &after, &expr
	return f
}

func (f *armForm) context() keys.Context { return keys.ContextForm }

// names are the fields of the kind that is chosen.
func (f *armForm) names() []armField { return armKinds()[f.kind].fields }

// field is the one that has the focus; nil on the choice of the kind.
func (f *armForm) field() *field {
	if f.focus == 0 {
		return nil
	}
	return f.fields[f.names()[f.focus-1]]
}

func (f *armForm) press(b keys.Binding, msg tea.KeyPressMsg) (cmd tea.Cmd, done bool) {
	n := len(f.names()) + 1
	switch b.ID {
	case keys.Back:
		return nil, true
	case keys.Accept:
		return f.send(), false
	case keys.FieldNext:
		if msg.String() != "tab" || !f.complete() {
			f.focus = (f.focus + 1) % n
		}
	case keys.FieldPrev:
		f.focus = (f.focus + n - 1) % n
	case keys.FieldLeft:
		f.sideways(-1)
	case keys.FieldRight:
		f.sideways(1)
	default:
		f.wrong = ""
		switch x := f.field(); {
		case x != nil:
			x.key(msg)
		case msg.String() == "space":
			f.sideways(1)
		}
	}
	return nil, false
}

func (f *armForm) paste(text string) {
	if x := f.field(); x != nil {
		f.wrong = ""
		x.insert(text)
	}
}

// sideways moves the cursor of a field, or chooses the next kind.
func (f *armForm) sideways(by int) {
	if x := f.field(); x != nil {
		x.move(by)
		return
	}
	n := len(armKinds())
	f.kind, f.wrong = (f.kind+by+n)%n, ""
}

// send gives the order; an order that is out is not given twice.
func (f *armForm) send() tea.Cmd {
	t, count, err := f.trigger()
	if err != nil || f.sent {
		return nil // the form says what is wrong
	}
	f.sent, f.wrong = true, ""
	return f.order(t, count)
}

// refused keeps the form open with the supervisor's answer.
func (f *armForm) refused(why string) { f.sent, f.wrong = false, why }

// trigger is what the fields say.
func (f *armForm) trigger() (t control.Trigger, count int, err error) {
	t.Kind = armKinds()[f.kind].kind
	count = 1
	for _, name := range f.names() {
		if err := f.read(name, &t, &count); err != nil {
			return t, count, err
		}
	}
	if err := t.Check(count); err != nil {
		return t, count, err
	}
	if s := f.stand(); s != nil {
		if err := t.Passed(s.Newest()); err != nil {
			return t, count, err
		}
	}
	if t.Kind == control.TriggerExpr {
		_, err = query.Compile(t.Expr)
	}
	return t, count, err
}

// read puts a field's value where it belongs.
func (f *armForm) read(name armField, t *control.Trigger, count *int) error {
	text := f.fields[name].String()
	switch name {
	case fieldExpr:
		t.Expr = text
		return nil
	case fieldAfter:
		d, err := readTime(text)
		t.AfterNS = int64(d)
		return err
	}
	if text == "" {
		return fmt.Errorf("%s: a number is missing", name)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %s is too large", name, text)
	}
	switch name {
	case fieldStep:
		t.Step = n
	case fieldEvery:
		t.Every = n
	case fieldFor:
		t.For = n
	case fieldCount:
		*count = int(min(n, control.MaxCount+1)) // Check refuses what is more
	}
	return nil
}

var errTime = errors.New("after: write a time such as 30s, 1m30s or 2h")

// readTime reads a length of time; a number alone is seconds.
func readTime(text string) (time.Duration, error) {
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		text = strconv.FormatFloat(s, 'f', -1, 64) + "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errTime
	}
	return d, nil
}

// complete finishes the name that is being typed. It reports whether the key was for the name: what is no whole name yet is not left by
// accident.
func (f *armForm) complete() bool {
	x := f.field()
	if x == nil || x != f.fields[fieldExpr] {
		return false
	}
	f.wrong = ""
	return completeName(x)
}

// completeName finishes the name of a field of an expression as far as there is one way to go on, and reports whether there was a name to finish.
func completeName(x *field) bool {
	word, next, whole := x.word(), "", false
	if word == "" {
		return false
	}
	for _, fd := range query.Fields() {
		whole = whole || fd.Name == word
		switch {
		case !strings.HasPrefix(fd.Name, word):
		case next == "":
			next = fd.Name
		default:
			next = commonStart(next, fd.Name)
		}
	}
	if len(next) > len(word) {
		x.insert(next[len(word):])
		return true
	}
	return next != "" && !whole
}

func commonStart(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}
