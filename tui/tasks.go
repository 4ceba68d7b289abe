package tui

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"opprof/engine/control"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

// taskState is how far a task is.
type taskState uint8

const (
	taskRuns taskState = iota
	taskDone
	taskFailed
)

// here is who gave an order from this screen.
const here = "this screen"

// task is something that the server was told to do, or that became of it.
type task struct {
	atNS   int64
	what   string
	who    string
	state  taskState
	result string
}

// tasksMax bounds how many tasks are kept beside the windows, which the supervisor keeps.
const tasksMax = 200

// tasks is what was ordered, by whom, and what came of it. Windows are the supervisor's list; here is what it does not hold.
type tasks struct {
	log     []task
	mine    map[int]bool // windows that were armed from this screen
	sinceNS int64        // windows armed before were there when the screen was opened
}

func (t *tasks) add(x task) {
	t.log = append(t.log, x)
	if len(t.log) > tasksMax {
		t.log = slices.Delete(t.log, 0, len(t.log)-tasksMax)
	}
}

// own remembers that windows were armed from here.
func (t *tasks) own(windows []control.Window) {
	if t.mine == nil {
		t.mine = map[int]bool{}
	}
	for _, w := range windows {
		t.mine[w.N] = true
	}
}

// begin takes the first word of a supervisor.
func (t *tasks) begin(s *control.Status) {
	for i := range s.Windows {
		t.sinceNS = max(t.sinceNS, s.Windows[i].ArmedNS)
	}
	t.became(s)
}

// became notes a state of the server.
func (t *tasks) became(s *control.Status) {
	x := task{atNS: s.SinceNS, what: "server " + s.State, who: "-", state: taskDone, result: s.Reason}
	switch s.State {
	case control.Starting, control.Stopping:
		x.state = taskRuns
	case control.Stalled:
		x.state = taskFailed
	case control.Dead:
		x.state = taskFailed
		if clean(s) {
			x.what, x.state = "server stopped", taskDone
		}
	}
	t.add(x)
}

// clean reports whether a server that is gone was told to go.
func clean(s *control.Status) bool { return (&panel.Supervised{Status: *s}).Clean() }

// serving are the states between which a healthy server changes all the time.
func serving(state string) bool {
	return state == control.Ready || state == control.Busy || state == control.Idle
}

// compare notes what changed between two words of the supervisor, and returns what is worth telling at once.
func (t *tasks) compare(before, now *control.Status) (told []string) {
	if before.State != now.State && !(serving(before.State) && serving(now.State)) {
		for i := range t.log {
			if t.log[i].state == taskRuns {
				t.log[i].state = taskDone
				t.log[i].result = cmp.Or(t.log[i].result, "until "+now.State) + ", " + unit.Duration(max(0, now.SinceNS-t.log[i].atNS))
			}
		}
		t.became(now)
		if text := becameText(before, now); text != "" {
			told = append(told, text)
		}
	}
	for i := range now.Windows {
		w := &now.Windows[i]
		switch {
		case i >= len(before.Windows):
			if !t.mine[w.N] && w.State == control.WindowArmed {
				told = append(told, windowName(w.N)+" armed by another client")
			}
		case before.Windows[i].State != w.State:
			if text := turnedText(w); text != "" {
				told = append(told, text)
			}
		}
	}
	for _, r := range now.Remarks {
		if !slices.Contains(before.Remarks, r) {
			t.add(task{atNS: now.SinceNS, what: "remark", who: "-", state: taskFailed, result: r})
			told = append(told, r)
		}
	}
	return told
}

// becameText tells of a state that the server went into; "" for one that says nothing new.
func becameText(before, now *control.Status) string {
	switch {
	case serving(now.State) && before.State == control.Starting:
		return "the server is ready after " + unit.Duration(max(0, now.SinceNS-before.SinceNS))
	case serving(now.State) || now.State == control.Starting:
		return ""
	case clean(now):
		return "the server is " + now.Reason
	case now.Reason != "":
		return "the server is " + now.State + ": " + now.Reason
	}
	return "the server is " + now.State
}

// turnedText tells of a window that went on; "" where the pages say enough.
func turnedText(w *control.Window) string {
	text := windowName(w.N) + " " + w.State
	s := panel.Supervised{}
	switch w.State {
	case control.WindowVerified, control.WindowIncomplete, control.WindowFailed, control.WindowCancelled:
		if more := s.WindowText(w); more != "" {
			text += ": " + more
		}
		return text
	}
	return ""
}

func windowName(n int) string { return "window " + strconv.Itoa(n) }

// all are the tasks of now, newest first: those of windows as the supervisor has them, and what else was noted.
func (t *tasks) all(s *panel.Supervised) []task {
	out := slices.Clone(t.log)
	if s != nil {
		for i := range s.Windows {
			w := &s.Windows[i]
			x := task{atNS: w.ArmedNS, what: windowName(w.N) + "  " + panel.TriggerText(w.Trigger), who: t.whoArmed(w), state: taskDone, result: w.State}
			switch {
			case panel.OpenWindow(w.State):
				x.state = taskRuns
			case w.State == control.WindowIncomplete || w.State == control.WindowFailed:
				x.state = taskFailed
			}
			more := s.WindowText(w)
			if w.State == control.WindowArmed {
				more = s.Countdown(w)
			}
			if more != "" {
				x.result += ": " + more
			}
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b task) int { return cmp.Compare(b.atNS, a.atNS) })
	return out
}

func (t *tasks) whoArmed(w *control.Window) string {
	switch {
	case t.mine[w.N]:
		return here
	case w.ArmedNS <= t.sinceNS:
		return "another screen, before"
	}
	return "another client"
}

// tasksOverlay lists the tasks, also while they go on.
func (m *Model) tasksOverlay() *overlay {
	return &overlay{title: "activity", lines: func(width int, filter string) []overlayLine {
		var lines []overlayLine
		for _, t := range m.link.tasks.all(m.standing()) {
			entry := t.lines(m.opt.Zone, &m.theme.Glyphs, width)
			if holds(entry, filter) {
				lines = append(lines, entry...)
			}
		}
		if len(lines) == 0 {
			lines = []overlayLine{{{S: "nothing yet", Role: theme.RoleDim}}}
		}
		return lines
	}}
}

// lines are when, what and by whom, and what came of it.
func (t *task) lines(zone *time.Location, gl *theme.Glyphs, width int) []overlayLine {
	mark, role := gl.Check, theme.RoleGood
	switch t.state {
	case taskRuns:
		mark, role = gl.Ring, theme.RoleAccent
	case taskFailed:
		mark, role = gl.Cross, theme.RoleBad
	}
	const indent = "           " // under what was done: behind the mark and the clock
	head := overlayLine{
		{S: string(mark) + " ", Role: role, Attr: theme.Bold}, {S: unit.ClockSeconds(t.atNS, zone) + " ", Role: theme.RoleDim},
		{S: t.what, Role: theme.RoleTitle, Attr: theme.Bold},
	}
	if t.who != "-" {
		head = append(head, chart.Span{S: "  by " + t.who, Role: theme.RoleDim})
	}
	if t.result == "" {
		return []overlayLine{head}
	}
	return append([]overlayLine{head}, hung(indent, theme.RoleText, t.result, theme.RoleText, width)...)
}
