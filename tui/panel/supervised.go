package panel

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"opprof/engine/control"
	"opprof/engine/unit"
	"opprof/tui/theme"
)

// Supervised is how a run stands by the word of its supervisor.
type Supervised struct {
	control.Status
	Lost     string  // why there is no newer word; "" when there is
	ReadOnly bool    // this client gives no orders
	NowNS    int64   // when it is drawn, ns since 1970
	StepsPS  float64 // steps a second; 0 unknown
}

// ServerMark is the mark of a server's state and its role; the word stands beside it.
func ServerMark(gl *theme.Glyphs, state string) (rune, theme.Role) {
	switch state {
	case control.Ready:
		return gl.Check, theme.RoleGood
	case control.Busy:
		return gl.Dot, theme.RoleGood
	case control.Idle:
		return gl.Ring, theme.RoleDim
	case control.Starting:
		return gl.Ring, theme.RoleAccent
	case control.Stalled:
		return gl.Triangle, theme.RoleBad
	case control.Stopping:
		return gl.Pause, theme.RoleWarn
	case control.Dead:
		return gl.Cross, theme.RoleBad
	}
	return '?', theme.RoleWarn
}

// Text is the state in a few words: what a start is at, how long a stall or a stop has lasted.
func (s *Supervised) Text() string {
	switch s.State {
	case control.Starting:
		return s.State + s.since(" ") + phaseBehind(s.Phase)
	case control.Stalled, control.Stopping:
		return s.State + s.since(" for ")
	}
	return control.Word(s.State, s.Reason)
}

// Clean reports whether a server that is gone was told to go.
func (s *Supervised) Clean() bool {
	return control.Word(s.State, s.Reason) == control.Stopped
}

// since is how long the state has lasted, behind a word; "" when that is not known.
func (s *Supervised) since(word string) string {
	if s.sinceNS() == 0 {
		return ""
	}
	return word + unit.Duration(s.sinceNS())
}

func (s *Supervised) sinceNS() int64 {
	if s.SinceNS == 0 {
		return 0
	}
	return max(0, s.NowNS-s.SinceNS)
}

func phaseBehind(p control.Phase) string {
	if p.Name == "" {
		return ""
	}
	if p.Total > 0 {
		return ": " + p.Name + " " + unit.Count(p.Done) + "/" + unit.Count(p.Total)
	}
	return ": " + p.Name
}

// Newest is the newest step of any engine; 0 before the first.
func (s *Supervised) Newest() int64 {
	var n int64
	for _, e := range s.Engines {
		n = max(n, e.StepIndex)
	}
	return n
}

// OpenWindow reports whether a window's story is not over.
func OpenWindow(state string) bool {
	switch state {
	case control.WindowArmed, control.WindowStarting, control.WindowRecording, control.WindowFlushing:
		return true
	}
	return false
}

// Active is the window that is starting, recording or flushing; nil when none is.
func (s *Supervised) Active() *control.Window {
	for i := range s.Windows {
		if w := &s.Windows[i]; OpenWindow(w.State) && w.State != control.WindowArmed {
			return w
		}
	}
	return nil
}

// Armed are the windows that wait, in their order.
func (s *Supervised) Armed() []*control.Window {
	var out []*control.Window
	for i := range s.Windows {
		if s.Windows[i].State == control.WindowArmed {
			out = append(out, &s.Windows[i])
		}
	}
	return out
}

// TriggerText says when a window starts, as it was ordered.
func TriggerText(t control.Trigger) string {
	switch t.Kind {
	case control.TriggerNow:
		return "now"
	case control.TriggerStep:
		return "at step " + unit.Count(t.Step)
	case control.TriggerEvery:
		return "every " + unit.Counted(t.Every, "step")
	case control.TriggerAfter:
		return "after " + unit.Duration(t.AfterNS)
	}
	if t.For > 1 {
		return "when " + t.Expr + " holds for " + unit.Counted(t.For, "step")
	}
	return "when " + t.Expr
}

// Countdown says what an armed window waits for, shortest: "in 120 steps", "in 12 s".
func (s *Supervised) Countdown(w *control.Window) string {
	switch t := w.Trigger; {
	case t.Kind == control.TriggerAfter && s.NowNS < w.ArmedNS+t.AfterNS:
		return "in " + unit.Duration(w.ArmedNS+t.AfterNS-s.NowNS)
	case t.Kind == control.TriggerStep && s.Newest() < t.Step:
		return s.stepsTo(t.Step)
	case t.Kind == control.TriggerEvery && w.FromStep == 0:
		return "counts from the first step"
	case t.Kind == control.TriggerEvery && s.Newest() < w.FromStep:
		return s.stepsTo(w.FromStep)
	case t.Kind == control.TriggerExpr && w.Held < max(t.For, 1):
		return "held for " + unit.Count(w.Held) + " of " + unit.Counted(max(t.For, 1), "step")
	}
	switch active := s.Active(); {
	case active != nil:
		return "after window " + strconv.Itoa(active.N)
	case s.State == control.Starting:
		return "when the server is ready"
	}
	return "at once"
}

// countdownShort is the countdown without what it comes to.
func (s *Supervised) countdownShort(w *control.Window) string {
	text, _, _ := strings.Cut(s.Countdown(w), ", about")
	return text
}

func (s *Supervised) stepsTo(step int64) string {
	left := step - s.Newest()
	text := "in " + unit.Counted(left, "step")
	if s.StepsPS > 0 {
		text += ", about " + unit.Duration(int64(float64(left)/s.StepsPS*1e9))
	}
	return text
}

// WindowText is all that is to be said of a window: what it waits for, what it got, or why not.
func (s *Supervised) WindowText(w *control.Window) string {
	switch w.State {
	case control.WindowArmed:
		if w.Trigger.Kind == control.TriggerNow {
			return s.Countdown(w)
		}
		return s.Countdown(w) + ": " + TriggerText(w.Trigger)
	case control.WindowStarting:
		return cmp.Or(w.Reason, "the server was told to start its profiler")
	case control.WindowRecording:
		return cmp.Or(w.Reason, unit.Counted(s.Cost.Steps, "step")+" recorded")
	case control.WindowFlushing:
		return cmp.Or(w.Reason, "traces are written; that holds serving up")
	}
	var parts []string
	if w.First != nil && w.Last != nil {
		parts = append(parts, fmt.Sprintf("steps %s-%s", unit.Count(*w.First), unit.Count(*w.Last)))
	}
	if w.StallNS != nil {
		parts = append(parts, "export stall "+unit.Duration(*w.StallNS))
	}
	if w.Reason != "" && w.Reason != w.State {
		parts = append(parts, w.Reason)
	}
	return strings.Join(parts, ", ")
}

// WindowReason is what is to be said of a window beside its steps and its export: what it waits for, or why it is not verified.
func (s *Supervised) WindowReason(w *control.Window) string {
	switch w.State {
	case control.WindowVerified, control.WindowIncomplete, control.WindowFailed:
		return w.Reason
	}
	return s.WindowText(w)
}

// OrderMark is the mark of an ordered window's state and its role; the word stands beside it.
func OrderMark(gl *theme.Glyphs, state string) (rune, theme.Role) {
	switch state {
	case control.WindowArmed, control.WindowStarting:
		return gl.Ring, theme.RoleAccent
	case control.WindowRecording:
		return gl.Dot, theme.RoleAccent
	case control.WindowFlushing:
		return gl.Pause, theme.RoleAccent
	case control.WindowVerified:
		return gl.Check, theme.RoleGood
	case control.WindowIncomplete:
		return gl.Triangle, theme.RoleWarn
	case control.WindowFailed:
		return gl.Cross, theme.RoleBad
	}
	return gl.Ring, theme.RoleDim
}

// SupervisedRows tell how the server stands: its state with the reason, its process, who watches, its windows and what went wrong.
func SupervisedRows(s *Supervised) []Row {
	if s == nil {
		return nil
	}
	role := theme.RoleText
	if s.State == control.Dead && !s.Clean() || s.State == control.Stalled {
		role = theme.RoleBad
	}
	rows := []Row{{Heading: "server"}, {Name: "state", Value: s.Text(), Role: role}}
	if s.Reason != "" {
		rows = append(rows, Row{Name: "reason", Value: s.Reason, Role: role})
	}
	if s.Lost != "" {
		rows = append(rows, Row{Name: "supervisor", Value: s.Lost, Role: theme.RoleBad})
	}
	if s.Server.Watched {
		rows = append(rows, Row{Name: "started by", Value: "somebody else: it is never stopped from here", Remark: profileWord(s.Server.Profile)})
	}
	if s.Server.PID > 0 {
		rows = append(rows, Row{Name: "process", Value: strconv.Itoa(s.Server.PID)})
	}
	rows = append(rows, Row{Name: "address", Value: said(s.Server.Addr)}, Row{Name: "clients", Value: strconv.Itoa(s.Clients) + " with orders",
		Remark: "when the last has gone: " + hangup(s)})
	rows = append(rows, Row{Name: "windows", Value: windowCounts(s)})
	if !s.JournalOK {
		rows = append(rows, Row{Name: "journal", Value: "an event could not be written, or is damaged", Role: theme.RoleBad})
	}
	for _, r := range s.Remarks {
		rows = append(rows, Row{Name: "remark", Value: r, Role: theme.RoleWarn})
	}
	return append(rows, Row{})
}

func profileWord(mounted bool) string {
	if mounted {
		return "with profile endpoints"
	}
	return "without profile endpoints: no window can be armed"
}

func hangup(s *Supervised) string {
	switch {
	case s.Server.Watched:
		return "it is not watched any more"
	case s.OnHangup == "stop":
		return "the server is stopped"
	}
	return "nothing happens"
}

func windowCounts(s *Supervised) string {
	if len(s.Windows) == 0 {
		return "none"
	}
	n := map[string]int{}
	for i := range s.Windows {
		n[s.Windows[i].State]++
	}
	var parts []string
	for _, state := range []string{control.WindowArmed, control.WindowStarting, control.WindowRecording, control.WindowFlushing, control.WindowVerified,
		control.WindowIncomplete, control.WindowFailed, control.WindowCancelled} {
		if n[state] > 0 {
			parts = append(parts, strconv.Itoa(n[state])+" "+state)
		}
	}
	return strings.Join(parts, ", ")
}
