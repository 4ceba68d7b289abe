package panel

import (
	"strings"
	"testing"

	"opprof/engine/control"
)

func at[T any](v T) *T { return &v }

// TestCountdown is a table of facts: what an armed window waits for.
func TestCountdown(t *testing.T) {
	const second = int64(1_000_000_000)
	base := Supervised{Status: control.Status{State: control.Busy, Engines: []control.Engine{{ID: "dp0", StepIndex: 900}, {ID: "dp1", StepIndex: 1000}}}, NowNS: 100 * second}
	for _, tt := range []struct {
		name string
		w    control.Window
		do   func(*Supervised)
		want string
	}{
		{"now", control.Window{Trigger: control.Trigger{Kind: control.TriggerNow}}, nil, "at once"},
		{"now while starting", control.Window{Trigger: control.Trigger{Kind: control.TriggerNow}}, func(s *Supervised) { s.State = control.Starting }, "when the server is ready"},
		{"now behind another", control.Window{Trigger: control.Trigger{Kind: control.TriggerNow}},
			func(s *Supervised) { s.Windows = []control.Window{{N: 4, State: control.WindowFlushing}} }, "after window 4"},
		{"a step, by the newest engine", control.Window{Trigger: control.Trigger{Kind: control.TriggerStep, Step: 1234}}, nil, "in 234 steps"},
		{"a step with a rate", control.Window{Trigger: control.Trigger{Kind: control.TriggerStep, Step: 2000}}, func(s *Supervised) { s.StepsPS = 100 }, "in 1,000 steps, about 10.0 s"},
		{"a step that has been", control.Window{Trigger: control.Trigger{Kind: control.TriggerStep, Step: 1000}}, nil, "at once"},
		{"every, before the first step", control.Window{Trigger: control.Trigger{Kind: control.TriggerEvery, Every: 100}}, nil, "counts from the first step"},
		{"every", control.Window{Trigger: control.Trigger{Kind: control.TriggerEvery, Every: 100}, FromStep: 1010}, nil, "in 10 steps"},
		{"a time", control.Window{Trigger: control.Trigger{Kind: control.TriggerAfter, AfterNS: 30 * second}, ArmedNS: 90 * second}, nil, "in 20.0 s"},
		{"a time that has come", control.Window{Trigger: control.Trigger{Kind: control.TriggerAfter, AfterNS: 30 * second}, ArmedNS: 50 * second}, nil, "at once"},
		{"an expression", control.Window{Trigger: control.Trigger{Kind: control.TriggerExpr, Expr: "x", For: 5}, Held: 2}, nil, "held for 2 of 5 steps"},
		{"an expression without a length", control.Window{Trigger: control.Trigger{Kind: control.TriggerExpr, Expr: "x"}}, nil, "held for 0 of 1 step"},
		{"an expression that has held", control.Window{Trigger: control.Trigger{Kind: control.TriggerExpr, Expr: "x"}, Held: 9}, nil, "at once"},
	} {
		s := base
		if tt.do != nil {
			tt.do(&s)
		}
		if got := s.Countdown(&tt.w); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestServerText is a table of facts: the words of a state.
func TestServerText(t *testing.T) {
	for _, tt := range []struct {
		status control.Status
		text   string
		clean  bool
	}{
		{control.Status{State: control.Starting, SinceNS: 1_000_000_000, Phase: control.Phase{Name: "capturing graphs", Done: 3, Total: 67}}, "starting 9.00 s: capturing graphs 3/67", false},
		{control.Status{State: control.Starting, SinceNS: 1_000_000_000, Phase: control.Phase{Name: "compiling"}}, "starting 9.00 s: compiling", false},
		{control.Status{State: control.Starting}, "starting", false},
		{control.Status{State: control.Stalled, SinceNS: 5_000_000_000}, "stalled for 5.00 s", false},
		{control.Status{State: control.Stopping, SinceNS: 20_000_000_000}, "stopping", false},
		{control.Status{State: control.Idle, SinceNS: 5_000_000_000}, "idle", false},
		{control.Status{State: control.Dead, Reason: "stopped: ordered by a client"}, "stopped", true},
		{control.Status{State: control.Dead, Reason: "the server ended with code 1"}, "dead", false},
	} {
		s := Supervised{Status: tt.status, NowNS: 10_000_000_000}
		if got := s.Text(); got != tt.text || s.Clean() != tt.clean {
			t.Errorf("%+v: %q and %t, want %q and %t", tt.status, got, s.Clean(), tt.text, tt.clean)
		}
	}
}

// TestSupervisedRows is a table of facts: what the server page says of a supervised server.
func TestSupervisedRows(t *testing.T) {
	healthy := control.Status{State: control.Busy, Server: control.Server{PID: 77, Addr: "unix:/s"}, Clients: 2, JournalOK: true}
	for _, tt := range []struct {
		name string
		do   func(*Supervised)
		says string
		not  string
	}{
		{"state", func(*Supervised) {}, "state busy", "journal"},
		{"process", func(*Supervised) {}, "process 77", ""},
		{"clients", func(*Supervised) {}, "clients 2 with orders", ""},
		{"nothing armed", func(*Supervised) {}, "windows none", ""},
		{"windows are counted by state", func(s *Supervised) {
			s.Windows = []control.Window{{State: control.WindowArmed}, {State: control.WindowVerified}, {State: control.WindowArmed}}
		}, "windows 2 armed, 1 verified", ""},
		{"why it is stalled", func(s *Supervised) { s.State, s.Reason = control.Stalled, "no step for 9 s" }, "reason no step for 9 s", ""},
		{"a journal that lost an event", func(s *Supervised) { s.JournalOK = false }, "journal an event", ""},
		{"a remark", func(s *Supervised) { s.Remarks = []string{"traces that nobody armed"} }, "remark traces that nobody armed", ""},
		{"no word", func(s *Supervised) { s.Lost = "the supervisor is gone" }, "supervisor the supervisor is gone", ""},
		{"gone", func(s *Supervised) { s.State, s.Server.PID = control.Dead, 0 }, "state dead", "process"},
	} {
		s := &Supervised{Status: healthy}
		tt.do(s)
		var text strings.Builder
		for _, r := range SupervisedRows(s) {
			text.WriteString(r.Heading + r.Name + " " + r.Value + "\n")
		}
		if got := text.String(); !strings.Contains(got, tt.says) || tt.not != "" && strings.Contains(got, tt.not) {
			t.Errorf("%s: want %q, not %q:\n%s", tt.name, tt.says, tt.not, got)
		}
	}
	if SupervisedRows(nil) != nil {
		t.Error("a run without a supervisor has rows of one")
	}
}

func TestWindowText(t *testing.T) {
	s := Supervised{Status: control.Status{State: control.Busy, Cost: control.Cost{Steps: 10}}}
	for _, tt := range []struct {
		w    control.Window
		want string
	}{
		{control.Window{State: control.WindowArmed, Trigger: control.Trigger{Kind: control.TriggerNow}}, "at once"},
		{control.Window{State: control.WindowArmed, Trigger: control.Trigger{Kind: control.TriggerStep, Step: 50}}, "in 50 steps: at step 50"},
		{control.Window{State: control.WindowArmed, Trigger: control.Trigger{Kind: control.TriggerExpr, Expr: "waiting > 3", For: 4}, Held: 1}, "held for 1 of 4 steps: when waiting > 3 holds for 4 steps"},
		{control.Window{State: control.WindowRecording}, "10 steps recorded"},
		{control.Window{State: control.WindowFlushing, Reason: "no step for 5 s"}, "no step for 5 s"},
		{control.Window{State: control.WindowVerified, First: at(int64(1100)), Last: at(int64(1109)), StallNS: at(int64(420_000_000))}, "steps 1,100-1,109, export stall 420 ms"},
		{control.Window{State: control.WindowFailed, Reason: "no trace appeared"}, "no trace appeared"},
		{control.Window{State: control.WindowCancelled, Reason: "cancelled"}, ""},
	} {
		if got := s.WindowText(&tt.w); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.w, got, tt.want)
		}
	}
}
