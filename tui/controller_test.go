package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"opprof/engine/control"
	"opprof/engine/serverlog"
	"opprof/engine/store"
)

// fakeController is a supervisor of a test's making. It keeps what it was told.
type fakeController struct {
	status control.Status
	lost   error
	refuse error
	asked  int
	orders []string
}

func (c *fakeController) Status(context.Context) (control.Status, error) {
	c.asked++
	s := c.status
	s.Windows = append([]control.Window{}, s.Windows...)
	return s, c.lost
}

func (c *fakeController) Arm(_ context.Context, t control.Trigger, count int) ([]control.Window, error) {
	c.orders = append(c.orders, fmt.Sprintf("arm %+v x%d", t, count))
	if c.refuse != nil {
		return nil, c.refuse
	}
	var out []control.Window
	for range count {
		w := control.Window{N: len(c.status.Windows) + 1, State: control.WindowArmed, Trigger: t, ArmedNS: newestTime(nil).UnixNano()}
		c.status.Windows = append(c.status.Windows, w)
		out = append(out, w)
	}
	return out, nil
}

func (c *fakeController) Cancel(_ context.Context, n int) error {
	c.orders = append(c.orders, fmt.Sprintf("cancel %d", n))
	if c.refuse == nil {
		c.status.Windows[n-1].State = control.WindowCancelled
	}
	return c.refuse
}

func (c *fakeController) Stop(context.Context) error {
	c.orders = append(c.orders, "stop")
	if c.refuse == nil {
		c.status.State, c.status.Reason = control.Stopping, "ordered by a client"
	}
	return c.refuse
}

// supervised is a run of a recorded server under a supervisor that says it is busy.
func supervisedRun(t testing.TB) *fakeController {
	t.Helper()
	free, stall := int64(71_000_000_000), int64(420_000_000)
	return &fakeController{status: control.Status{
		API: control.API, Run: "h200-tp1", Path: "/runs/h200-tp1", State: control.Busy, SinceNS: newestTime(recording(t, "h200-tp1", 0)).UnixNano() - 5_000_000_000,
		Server: control.Server{PID: 4242, Addr: "http://127.0.0.1:8000", Profile: true}, Engines: []control.Engine{{ID: "dp0-pid1090", StepIndex: 2500}},
		Clients: 1, OnHangup: "keep", JournalOK: true,
		Cost: control.Cost{Ranks: 1, Steps: 10, NeedBytes: 40_000_000, FreeBytes: &free, StallNS: &stall, LagNS: 250_000_000},
	}}
}

// ordered shows the windows page of a live run with a supervisor.
func orderedScreen(t testing.TB, w, h int, opt Options, c *fakeController) *screen {
	t.Helper()
	if c.status.Run == "" {
		t.Fatal("no run")
	}
	opt.Control = c
	s, _ := windowScreen(t, "h200-tp1", "live", w, h, opt, nil)
	return s
}

// firstWindows are orders of the recorded run's first windows, and two that wait.
func firstWindows(c *fakeController, s *store.Store) {
	at := s.Snapshot().Frame(store.Query{Columns: 1}).Windows
	for i, w := range at {
		o := control.Window{N: i + 1, State: control.WindowVerified, Trigger: control.Trigger{Kind: control.TriggerNow}, ArmedNS: w.StartNS - 1000}
		from, to, stall := w.AfterStep+1, w.AfterStep+10, w.LongestNS
		o.First, o.Last, o.StallNS = &from, &to, &stall
		c.status.Windows = append(c.status.Windows, o)
	}
	last := at[len(at)-1].StartNS
	c.status.Windows = append(c.status.Windows,
		control.Window{N: len(at) + 1, State: control.WindowFailed, Reason: "the server did not start its profiler: 500", Trigger: control.Trigger{Kind: control.TriggerNow}, ArmedNS: last + 2_000_000_000},
		control.Window{N: len(at) + 2, State: control.WindowArmed, Trigger: control.Trigger{Kind: control.TriggerEvery, Every: 500}, FromStep: 2740, ArmedNS: last + 3_000_000_000},
		control.Window{N: len(at) + 3, State: control.WindowArmed, Trigger: control.Trigger{Kind: control.TriggerExpr, Expr: "decode_batch_size >= 32", For: 5}, Held: 2, ArmedNS: last + 4_000_000_000})
}

// TestOrders is a table of facts: after these keys the supervisor was told this, and the screen says that.
func TestOrders(t *testing.T) {
	condition := "d e c o d e _ b tab space > = space 2"
	for _, tt := range []struct {
		name, keys string
		do         func(*fakeController)
		told, says string
		readOnly   bool
	}{
		{"w arms now", "w", nil, "arm {Kind:now Step:0 Every:0 AfterNS:0 Expr: For:0} x1", "window 1 armed", false},
		{"w is refused", "w", func(c *fakeController) {
			c.refuse = &control.Error{Text: "the disk of the traces is full", Hint: "make room"}
		}, "arm ", "no window: the disk of the traces is full: make room", false},
		{"w without a profiler", "w", func(c *fakeController) { c.status.Server.Profile = false }, "", "started without a profiler", false},
		{"w on a server that is gone", "w", func(c *fakeController) { c.status.State = control.Dead }, "", "the server does not run", false},
		{"w of a reader", "w", nil, "", "attach without --readonly", true},
		{"W opens the form", "W", nil, "", "arm profiler windows", false},
		{"W of a reader", "W", nil, "", "attach without --readonly", true},
		{"an empty form orders nothing", "W enter", nil, "", "for example decode_batch_size", false},
		{"a condition, its name completed", "W " + condition + " enter", nil, "arm {Kind:expr Step:0 Every:0 AfterNS:0 Expr:decode_batch_size >= 2 For:1} x1", "window 1 armed", false},
		{"for k steps, count", "W " + condition + " down 5 down 3 enter", nil, "Expr:decode_batch_size >= 2 For:5} x3", "windows 1 to 3 armed", false},
		{"a condition that is none", "W f o o enter", nil, "", "there is no field foo; nearest:", false},
		{"tab stays at half a name", "W p r e tab", nil, "", "prefill_requests", false},
		{"at a step", "W shift+tab right down 9 9 9 9 enter", nil, "arm {Kind:step Step:9999 ", "window 1 armed", false},
		{"at a step that has been", "W shift+tab right down 2 5 0 0 enter", nil, "", "step 2,500 has passed: the newest is 2,500", false},
		{"every, twice", "W shift+tab right right down 5 0 0 down 2 enter", nil, "arm {Kind:every Step:0 Every:500 ", "windows 1 to 2 armed", false},
		{"every says where", "W shift+tab right right down 5 0 0 down 2", nil, "", "first at step 3,000", false},
		{"too often", "W shift+tab right right down 5 enter", nil, "", "at least 20 steps", false},
		{"after a time", "W shift+tab left down 1 m 3 0 s enter", nil, "AfterNS:90000000000 ", "window 1 armed", false},
		{"seconds are enough", "W shift+tab left down 4 5 enter", nil, "AfterNS:45000000000 ", "window 1 armed", false},
		{"no time", "W shift+tab left down x enter", nil, "", "write a time such as 30s", false},
		{"too many", "W " + condition + " down down 1 0 1 enter", nil, "", "expected 1 to 100 windows", false},
		{"the form keeps what was refused", "W " + condition + " enter", func(c *fakeController) { c.refuse = errors.New("the server is stopping") }, "arm ", "refused  the server is stopping", false},
		{"the cost is shown", "W", nil, "", "needs about 40.0 MB of 71.0 GB free", false},
		{"the stall is shown", "W", nil, "", "the last window for 420 ms", false},
		{"the lag is shown", "W", nil, "", "up to 250 ms after it completed", false},
		{"letters are text in the form", "W q", nil, "", "arm profiler windows", false},
		{"esc closes the form", "W esc", nil, "", "W arm on…", false},
		{"x cancels what waits", "w G x", nil, "cancel 1", "window 1 cancelled", false},
		{"x on what has been says why", "g x", nil, "", "only a window that has not started", false},
		{"a lists what was done", "w a", nil, "arm ", "window 1  now  by this screen", false},
		{"a lists refusals", "w a", func(c *fakeController) { c.refuse = errors.New("no room") }, "arm ", "arm a window now  by this screen", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := supervisedRun(t)
			if tt.do != nil {
				tt.do(c)
			}
			s := orderedScreen(t, 180, 50, Options{ReadOnly: tt.readOnly}, c)
			for _, k := range strings.Fields(tt.keys) {
				s.content()
				s.keys(k)
			}
			got := s.plain()
			lineWidths(t, got, 180, 50)
			if !strings.Contains(got, tt.says) {
				t.Errorf("%q is not on the screen:\n%s", tt.says, got)
			}
			if all := strings.Join(c.orders, "; "); tt.told == "" && all != "" || !strings.Contains(all, tt.told) {
				t.Errorf("told %q, want %q", all, tt.told)
			}
		})
	}
}

// TestStopping: nothing is stopped by accident, and what is stopped is followed to its end.
func TestStopping(t *testing.T) {
	for _, tt := range []struct {
		name, keys string
		wait       time.Duration // before the keys
		stopped    bool
	}{
		{"y is yes", "y", settle, true},
		{"enter is no at first", "enter", settle, false},
		{"tab, enter is yes", "tab enter", settle, true},
		{"tab, tab, enter is no", "tab tab enter", settle, false},
		{"n is no", "n", settle, false},
		{"esc is no", "esc", settle, false},
		{"other keys are nothing", "w 1 space x", settle, false},
		{"what was typed before it was read answers nothing", "y y tab enter", 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := supervisedRun(t)
			src := newServerSource(t, "live", serverlog.Options{})
			s := newServerScreen(t, src, Options{Control: c})
			s.size(120, 40)
			s.tick(0)
			s.keys("3", "ctrl+x")
			if got := s.plain(); !strings.Contains(got, "Stop h200-tp2?") || !strings.Contains(got, "[►No (n) ]") {
				t.Fatalf("no question:\n%s", got)
			}
			s.clock.at = s.clock.at.Add(tt.wait)
			s.keys(strings.Fields(tt.keys)...)
			if got := strings.Join(c.orders, ";") == "stop"; got != tt.stopped || !tt.stopped && len(c.orders) > 0 {
				t.Errorf("told %q", c.orders)
			}
			if tt.stopped && !strings.Contains(s.plain(), "stopping for") {
				t.Errorf("not stopping:\n%s", s.plain())
			}
		})
	}
	c := supervisedRun(t)
	s := newServerScreen(t, newServerSource(t, "live", serverlog.Options{}), Options{Control: c, ReadOnly: true})
	s.size(120, 40)
	s.tick(0)
	s.keys("3", "ctrl+x")
	if got := s.plain(); strings.Contains(got, "Stop h200") || !strings.Contains(got, "attach without --readonly") {
		t.Errorf("a reader is asked:\n%s", got)
	}
}

// TestSupervisorsWord is a table of facts: what the first line and the footer say when the supervisor says another thing.
func TestSupervisorsWord(t *testing.T) {
	for _, tt := range []struct {
		name string
		then func(*fakeController)
		says []string
	}{
		{"stalled", func(c *fakeController) { c.status.State, c.status.Reason = control.Stalled, "no step for 9 s" }, []string{"▲ stalled for", "the server is stalled: no step for 9 s"}},
		{"idle", func(c *fakeController) { c.status.State = control.Idle }, []string{"○ idle"}},
		{"died", func(c *fakeController) {
			c.status.State, c.status.Reason = control.Dead, "EngineCore was killed by signal 9"
		}, []string{"× dead: EngineCore was killed by signal 9"}},
		{"stopped in order", func(c *fakeController) {
			c.status.State, c.status.Reason = control.Dead, "stopped: ordered by a client"
		}, []string{"○ stopped: ordered by a client"}},
		{"no supervisor", func(c *fakeController) { c.lost = errors.New("the supervisor was killed") }, []string{" no supervisor ", "the supervisor was killed"}},
		{"another client arms", func(c *fakeController) {
			c.status.Windows = []control.Window{{N: 1, State: control.WindowArmed, Trigger: control.Trigger{Kind: control.TriggerStep, Step: 3000}}}
		}, []string{"window 1 armed in 500 steps", "window 1 armed by another client"}},
		{"a window records", func(c *fakeController) {
			c.status.Windows = []control.Window{{N: 1, State: control.WindowRecording}, {N: 2, State: control.WindowArmed}}
		}, []string{"window 1 recording +1"}},
		{"a remark", func(c *fakeController) { c.status.Remarks = []string{"a trace that nobody armed appeared"} }, []string{"a trace that nobody armed appeared"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := supervisedRun(t)
			s := orderedScreen(t, 180, 50, Options{}, c)
			tt.then(c)
			s.tick(time.Second)
			got := s.plain()
			for _, says := range tt.says {
				if !strings.Contains(got, says) {
					t.Errorf("%q is not on the screen:\n%s", says, got)
				}
			}
		})
	}
}

// A supervisor that does not answer is asked once, and holds no picture up.
func TestASlowSupervisorIsAskedOnce(t *testing.T) {
	c := supervisedRun(t)
	l := link{to: c}
	first := l.ask(t.Context())
	if first == nil || l.ask(t.Context()) != nil {
		t.Fatal("asked twice")
	}
	l.heard(first().(statusMsg), 1)
	if l.ask(t.Context()) == nil || !l.known {
		t.Error("not asked again")
	}
	before := l.status
	l.heard(statusMsg{err: errors.New("gone")}, 2)
	if l.status.State != before.State || l.lost != "gone" {
		t.Errorf("an error alone changed the status: %+v, lost %q", l.status, l.lost)
	}
}

// startScreen is the first page of a server that has not made a step.
func startScreen(t testing.TB, w, h int, log string, c *fakeController, opt Options) *screen {
	t.Helper()
	src := newServerSource(t, "live", serverlog.Options{})
	src.store = store.New(store.Options{})
	src.write(t, log)
	opt.Control = c
	s := newServerScreen(t, src, opt)
	s.size(w, h)
	s.tick(0)
	s.tick(0)
	return s
}

// startOf is the part of the recorded log before a text.
func startOf(t testing.TB, until string) string {
	t.Helper()
	head, _, ok := strings.Cut(recordedLog(t), until)
	if !ok {
		t.Fatalf("no %q in the log", until)
	}
	return head[:strings.LastIndexByte(head, '\n')+1]
}

func TestLaunchSays(t *testing.T) {
	starting := func(c *fakeController) {
		c.status.State, c.status.Phase = control.Starting, control.Phase{Name: "capturing graphs", Done: 20, Total: 67}
	}
	for _, tt := range []struct {
		name string
		do   func(*fakeController)
		says []string
		not  string
	}{
		{"phases with progress", starting, []string{"✓ loading weights", "► capturing graphs", "20/67", "· warming up", "starting ─"}, "waiting for the first step"},
		{"facts", starting, []string{"what the server said", "attention backend"}, ""},
		{"the first line", starting, []string{"starting 5.00 s: capturing graphs 20/67"}, ""},
		{"the cause of a failure", func(c *fakeController) {
			starting(c)
			c.status.State, c.status.Reason = control.Dead, "ValueError: No available memory for the cache blocks"
		}, []string{"the start failed", "ValueError: No available memory for the cache blocks", "× capturing graphs", "L opens the log"}, ""},
		{"stopped while it started", func(c *fakeController) {
			starting(c)
			c.status.State, c.status.Reason = control.Dead, "stopped: ordered by a client"
		}, []string{"the server is stopped"}, "the start failed"},
		{"ready without a step", func(c *fakeController) {
			c.status.State, c.status.Phase = control.Ready, control.Phase{Name: "ready"}
		}, []string{"ready: the first step is waited for", "✓ ready"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := supervisedRun(t)
			c.status.SinceNS = newestTime(recording(t, "h200-tp2", 800)).UnixNano() - 5_000_000_000
			tt.do(c)
			s := startScreen(t, 120, 40, startOf(t, "Graph capturing finished"), c, Options{})
			got := s.plain()
			lineWidths(t, got, 120, 40)
			for _, says := range tt.says {
				if !strings.Contains(got, says) {
					t.Errorf("%q is not on the screen:\n%s", says, got)
				}
			}
			if tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("%q is on the screen:\n%s", tt.not, got)
			}
		})
	}
}
