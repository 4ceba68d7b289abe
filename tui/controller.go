package tui

import (
	"context"
	"errors"
	"strings"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/control"
	"opprof/tui/keys"
	"opprof/tui/panel"
)

// Controller gives orders to the run's supervisor. All methods may be called from any goroutine and return promptly once ctx is done.
type Controller interface {
	// Status is how the run stands. A status may come with an error: what was last known, and why there is no newer word.
	Status(ctx context.Context) (control.Status, error)
	Arm(ctx context.Context, t control.Trigger, count int) ([]control.Window, error)
	Cancel(ctx context.Context, n int) error
	Stop(ctx context.Context) error
}

// link is what the screen knows of the run's supervisor and has told it. It belongs to the event loop; only the commands it returns run
// elsewhere.
type link struct {
	to       Controller // nil when there is no supervisor
	readOnly bool
	busy     bool // a question is out
	known    bool // status is one
	status   control.Status
	lost     string
	tasks    tasks
}

// statusMsg brings the supervisor's word.
type statusMsg struct {
	status control.Status
	err    error
}

// ask returns a command that asks how the run stands; nil while a question is out.
func (l *link) ask(ctx context.Context) tea.Cmd {
	if l.to == nil || l.busy {
		return nil
	}
	l.busy = true
	to := l.to
	return func() tea.Msg {
		s, err := to.Status(ctx)
		return statusMsg{s, err}
	}
}

// heard takes the supervisor's word and returns what is worth telling the reader.
func (l *link) heard(msg statusMsg, nowNS int64) (told []string) {
	l.busy = false
	before := l.lost
	l.lost = ""
	if msg.err != nil {
		l.lost = msg.err.Error()
	}
	if l.lost != "" && before == "" {
		l.tasks.add(task{atNS: nowNS, what: "the supervisor", who: "-", state: taskFailed, result: l.lost})
		told = append(told, l.lost)
	}
	if msg.status.API == 0 {
		return told
	}
	if l.known {
		told = append(told, l.tasks.compare(&l.status, &msg.status)...)
	} else {
		l.tasks.begin(&msg.status)
	}
	l.status, l.known = msg.status, true
	return told
}

// armedMsg answers an order to arm windows.
type armedMsg struct {
	trigger control.Trigger
	windows []control.Window
	err     error
}

func (l *link) arm(ctx context.Context, t control.Trigger, count int) tea.Cmd {
	to := l.to
	return func() tea.Msg {
		windows, err := to.Arm(ctx, t, count)
		return armedMsg{t, windows, err}
	}
}

// orderedMsg answers another order.
type orderedMsg struct {
	what string // "cancel window 3"
	said string // what is said when it was taken
	stop bool
	err  error
}

func (l *link) cancel(ctx context.Context, n int) tea.Cmd {
	to := l.to
	name := windowName(n)
	return func() tea.Msg {
		return orderedMsg{what: "cancel " + name, said: name + " cancelled", err: to.Cancel(ctx, n)}
	}
}

func (l *link) stop(ctx context.Context) tea.Cmd {
	to := l.to
	return func() tea.Msg {
		return orderedMsg{what: "stop the server", said: "the server stops: its state is in the first line", stop: true, err: to.Stop(ctx)}
	}
}

// refusal is an error with what to do about it.
func refusal(err error) string {
	var e *control.Error
	if errors.As(err, &e) && e.Hint != "" {
		return e.Text + ": " + e.Hint
	}
	return err.Error()
}

// runs reports whether there is a server that could be stopped.
func (l *link) runs() bool {
	return l.known && l.status.State != control.Dead && l.status.State != control.Stopping
}

// standing is the supervisor's word for the panels; nil without one.
func (m *Model) standing() *panel.Supervised {
	if !m.link.known {
		return nil
	}
	s := &panel.Supervised{Status: m.link.status, Lost: m.link.lost, ReadOnly: m.link.readOnly, NowNS: m.opt.Now().UnixNano()}
	if m.newest != nil && m.newest.Rates.Known {
		s.StepsPS = m.newest.Rates.StepsPerS
	}
	return s
}

// supervised is a page that shows what the supervisor says.
type supervised interface {
	// stands takes its newest word.
	stands(s *panel.Supervised)
}

// controlled takes the messages of the supervisor. It reports false for any other message.
func (m *Model) controlled(msg tea.Msg) (cmd tea.Cmd, ok bool) {
	nowNS := m.opt.Now().UnixNano()
	switch msg := msg.(type) {
	case statusMsg:
		if told := m.link.heard(msg, nowNS); len(told) > 0 {
			m.say(strings.Join(told, "   "))
		}
		m.share()
		m.stale = true
	case armedMsg:
		m.armed(msg, nowNS)
		return m.link.ask(m.ctx), true
	case orderedMsg:
		m.ordered(msg, nowNS)
		return m.link.ask(m.ctx), true
	default:
		return nil, false
	}
	return nil, true
}

// share hands the supervisor's word to the pages.
func (m *Model) share() {
	s := m.standing()
	if s == nil {
		return
	}
	for _, p := range m.pages {
		if p, ok := p.(supervised); ok {
			p.stands(s)
		}
	}
}

// armed tells what came of an order to arm windows, where it was given.
func (m *Model) armed(msg armedMsg, nowNS int64) {
	form, _ := m.dialog.(*armForm)
	if msg.err != nil {
		why := refusal(msg.err)
		m.link.tasks.add(task{atNS: nowNS, what: "arm a window " + panel.TriggerText(msg.trigger), who: here, state: taskFailed, result: why})
		if form != nil {
			form.refused(why)
			return
		}
		m.say("no window: " + why)
		return
	}
	if form != nil {
		m.dialog = nil
	}
	m.link.tasks.own(msg.windows)
	m.say(armedText(msg.windows))
}

// armedText names windows that were armed together.
func armedText(windows []control.Window) string {
	switch n := len(windows); n {
	case 0:
		return "no window armed"
	case 1:
		return windowName(windows[0].N) + " armed"
	default:
		return "windows " + strings.TrimPrefix(windowName(windows[0].N), "window ") + " to " + strings.TrimPrefix(windowName(windows[n-1].N), "window ") + " armed"
	}
}

func (m *Model) ordered(msg orderedMsg, nowNS int64) {
	t := task{atNS: nowNS, what: msg.what, who: here, state: taskDone, result: msg.said}
	said := msg.said
	if msg.err != nil {
		t.state, t.result = taskFailed, refusal(msg.err)
		said = msg.what + ": " + t.result
	}
	m.link.tasks.add(t)
	m.say(said)
}

// orders is what may be ordered at the moment.
func (m *Model) orders() keys.Need {
	var n keys.Need
	if !m.link.readOnly {
		n |= keys.NeedOrders
	}
	if c, ok := m.feed.source.(WindowControl); ok && m.link.to == nil && c.MayArm() {
		n |= keys.NeedControl | keys.NeedServer
	}
	if m.link.to == nil {
		return n
	}
	n |= keys.NeedControl | keys.NeedTriggers | keys.NeedSupervisor | keys.NeedLive
	if !m.link.known || m.link.runs() {
		n |= keys.NeedServer
	}
	if !m.link.known || !m.link.status.Server.Watched {
		n |= keys.NeedOwned
	}
	return n
}

// cancelWindow takes the selected window back.
func (m *Model) cancelWindow() tea.Cmd {
	p, ok := m.page().(*windowsPage)
	if !ok {
		return nil
	}
	w := p.order()
	if w == nil {
		return nil
	}
	return m.link.cancel(m.ctx, w.N)
}
