package supervisor

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"opprof/engine/control"
	"opprof/engine/journal"
	"opprof/engine/rundir"
	"opprof/engine/supervisor/fakeserver"
	"opprof/engine/supervisor/process"
	"opprof/engine/window"
)

// killed starts a supervisor of its own process, waits until ok holds, and kills it.
func killed(t *testing.T, c Config, o fakeserver.Options, ok func(r *run)) {
	t.Helper()
	cmd := child(t, c.Dir, filepath.Dir(c.Address.Socket), o)
	r := &run{t: t, config: c, ended: make(chan struct{}), more: make(chan struct{}, 1)}
	r.stop = func() {}
	r.client = control.NewClient(c.Socket, true)
	defer r.client.Close()
	awaitSocket(t, cmd, c.Socket)
	ok(r)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

func awaitSocket(t *testing.T, cmd *exec.Cmd, socket string) {
	t.Helper()
	deadline := time.Now().Add(limit)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for ; time.Now().Before(deadline); <-ticker.C {
		if st, err := os.Stat(socket); err == nil && st.Mode().Perm() == 0o600 {
			return
		}
	}
	_ = cmd.Process.Kill()
	t.Fatal("the supervisor did not open its socket")
}

func untilReady(r *run) {
	r.until("busy", func(s control.Status) bool { return s.State == control.Busy })
}

func TestASupervisorThatIsKilled(t *testing.T) {
	o := fakeserver.Options{}
	c := newConfig(t, o, 1)
	var before control.Status
	killed(t, c, o, func(r *run) {
		untilReady(r)
		writer := control.NewClient(c.Socket, false)
		defer writer.Close()
		if _, err := writer.Arm(t.Context(), control.Trigger{Kind: control.TriggerNow}, 1); err != nil {
			t.Fatal(err)
		}
		r.windowEnds(1)
		if _, err := writer.Arm(t.Context(), control.Trigger{Kind: control.TriggerStep, Step: 1 << 40}, 1); err != nil {
			t.Fatal(err)
		}
		before = r.status()
	})
	r := launch(t, c)
	r.await(eventStarted, map[string]any{"takeover": true})
	s := r.until("busy again", func(s control.Status) bool { return s.State == control.Busy })
	if s.Server.PID != before.Server.PID || s.Windows[0].State != control.WindowVerified || s.Windows[1].State != control.WindowArmed || s.Cost.Ranks != 1 {
		t.Errorf("before %+v, after %+v", before, s)
	}
	has(t, strings.Join(s.Remarks, "\n"), "taken over")
	if err := r.client.Cancel(t.Context(), 2); err != nil {
		t.Error(err)
	}
	if w := r.arm(control.Trigger{Kind: control.TriggerNow}, 1); w.State != control.WindowVerified || w.N != 3 {
		t.Errorf("a window after the takeover: %+v", w)
	}
	has(t, r.end(), "stopped: ordered by a client")
	assertGenerations(t, c.Dir)
}

// assertGenerations: each supervisor has its generation, and the sequence goes on.
func assertGenerations(t *testing.T, dir string) {
	t.Helper()
	replay, err := journal.Read(filepath.Join(dir, rundir.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	for i, e := range replay.Entries {
		if e.Seq != int64(i+1) {
			t.Errorf("event %d has sequence number %d", i+1, e.Seq)
		}
		seen[e.Generation] = true
	}
	if !seen[1] || !seen[2] || len(seen) != 2 {
		t.Errorf("generations %v", seen)
	}
}

// TestASupervisorThatIsKilledInAWindow: the profiler is stopped, and what it left is judged.
func TestASupervisorThatIsKilledInAWindow(t *testing.T) {
	o := fakeserver.Options{StepMS: 100}
	c := newConfig(t, o, 1)
	killed(t, c, o, func(r *run) {
		untilReady(r)
		writer := control.NewClient(c.Socket, false)
		defer writer.Close()
		if _, err := writer.Arm(t.Context(), control.Trigger{Kind: control.TriggerNow}, 1); err != nil {
			t.Fatal(err)
		}
		r.until("recording", func(s control.Status) bool { return s.Windows[0].State == control.WindowRecording })
	})
	r := launch(t, c)
	w := r.windowEnds(1)
	if w.State != control.WindowIncomplete || !strings.Contains(w.Reason, "its supervisor was replaced") {
		t.Errorf("%s: %s", w.State, w.Reason)
	}
	if w := r.arm(control.Trigger{Kind: control.TriggerNow}, 1); w.State != control.WindowVerified {
		t.Errorf("the next window: %+v", w)
	}
	r.end()
}

func TestAServerThatDiesWhileNobodyWatches(t *testing.T) {
	o := fakeserver.Options{Fault: fakeserver.StubbornChildren}
	c := newConfig(t, o, 1)
	var server process.Identity
	killed(t, c, o, func(r *run) {
		untilReady(r)
		writer := control.NewClient(c.Socket, false)
		defer writer.Close()
		_, err := writer.Arm(t.Context(), control.Trigger{Kind: control.TriggerStep, Step: 1 << 40}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if server, err = process.Identify(r.status().Server.PID, journal.BootID()); err != nil {
			t.Fatal(err)
		}
	})
	if err := syscall.Kill(server.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for server.Alive(journal.BootID()) {
		<-ticker.C
	}
	has(t, launch(t, c).closed(), "ended while no supervisor watched", "1 process that it left was killed")
	stand, err := Stand(c.Dir)
	if err != nil || stand.Status.Windows[0].State != control.WindowCancelled || stand.Status.Windows[0].Reason != "the server is gone" {
		t.Errorf("the window that was armed: %+v, %v", stand.Status.Windows, err)
	}
}

// TestAStrangerIsNotSignalled: the journal names a process that is somebody else's by now.
func TestAStrangerIsNotSignalled(t *testing.T) {
	stranger := exec.Command("sleep", "1000")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Process.Kill(); _ = stranger.Wait() }()
	for name, spoil := range map[string]func(*spawnedEvent){
		"another start time": func(e *spawnedEvent) { e.StartTime = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			c := newConfig(t, fakeserver.Options{}, 1)
			j, _, err := journal.Open(filepath.Join(c.Dir, rundir.JournalName), journal.SystemClock{})
			if err != nil {
				t.Fatal(err)
			}
			e := spawnedEvent{PID: stranger.Process.Pid, PGID: stranger.Process.Pid}
			spoil(&e)
			for _, one := range []struct {
				event   string
				payload any
			}{{eventCreated, nil}, {eventSpawned, e}} {
				if _, err := j.Append(one.event, one.payload); err != nil {
					t.Fatal(err)
				}
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			has(t, launch(t, c).closed(), "ended while no supervisor watched")
			if err := stranger.Process.Signal(syscall.Signal(0)); err != nil {
				t.Errorf("the stranger: %v", err)
			}
		})
	}
}

// TestASupervisorKilledBeforeItWroteTheServerDown: the server is found by the run's mark.
func TestASupervisorKilledBeforeItWroteTheServerDown(t *testing.T) {
	o := fakeserver.Options{}
	c := newConfig(t, o, 1)
	killed(t, c, o, untilReady)
	path := filepath.Join(c.Dir, rundir.JournalName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if err := os.WriteFile(path, []byte(strings.Join(lines[:2], "")+`{"seq":3,"ev`), 0o600); err != nil {
		t.Fatal(err)
	}
	r := launch(t, c)
	r.await(eventSpawned, map[string]any{"adopted": true})
	r.state(control.Ready)
	has(t, r.end(), "stopped")
}

// TestASecondOrderToStop: it changes nothing.
func TestASecondOrderToStop(t *testing.T) {
	c := newConfig(t, fakeserver.Options{Fault: fakeserver.SlowDrain}, 1)
	c.Timing.StopMargin = 600 * time.Millisecond
	r := launch(t, c)
	r.state(control.Ready)
	for range 2 {
		if err := r.client.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.client.Arm(t.Context(), control.Trigger{Kind: control.TriggerNow}, 1); err == nil {
		t.Error("a window was armed in a server that stops")
	}
	has(t, r.closed(), "stopped while draining")
	terms := 0
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e["event"] == eventSignal && e["sig"] == "SIGTERM" {
			terms++
		}
	}
	if terms != 1 {
		t.Errorf("%d SIGTERMs", terms)
	}
}

// TestTracesOfEndedWindowsAreClaimed: also those whose copies were written while the window that is open now was.
func TestTracesOfEndedWindowsAreClaimed(t *testing.T) {
	s := &Supervisor{config: Config{Dir: t.TempDir()}}
	s.windows.claimed = map[string]bool{}
	taken := make([]window.Taken, 4)
	for i, state := range []string{control.WindowVerified, control.WindowIncomplete, control.WindowFailed, control.WindowRecording} {
		taken[i].State = state
		file := fmt.Sprintf("kineto/rank0.%d.pt.trace.json.gz", i+1)
		if state == control.WindowFailed {
			continue // killed before its summary was written
		}
		if err := writeSummary(s.config.Dir, Summary{Schema: SummarySchema, N: i + 1, Ranks: []SummaryRank{{File: file}}}); err != nil {
			t.Fatal(err)
		}
	}
	s.claimEnded(taken)
	if want := map[string]bool{"rank0.1.pt.trace.json": true, "rank0.2.pt.trace.json": true}; !maps.Equal(s.windows.claimed, want) {
		t.Errorf("claimed %v", s.windows.claimed)
	}
}

// TestAnOrderThatMeetsAStop: between the looks at server and disk and the arming of a window, a stop may come.
func TestAnOrderThatMeetsAStop(t *testing.T) {
	s := &Supervisor{mounted: true}
	s.windows.controller = window.New(quickWindows())
	s.server.stopping = "ordered by a client"
	order := control.ArmRequest{Trigger: control.Trigger{Kind: control.TriggerNow}, Count: 1}
	if armed, err := s.arm(order, make(chan error, 1)); err == nil || len(armed) > 0 || len(s.windows.controller.Windows()) > 0 {
		t.Errorf("%v, %v", armed, err)
	}
}
