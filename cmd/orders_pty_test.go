package cmd

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"opprof/engine/journal"
	"opprof/engine/rundir"
	"opprof/engine/supervisor/fakeserver"
)

// says is a screen that holds all of some texts.
func says(texts ...string) func(string) bool {
	return func(screen string) bool {
		for _, t := range texts {
			if !strings.Contains(screen, t) {
				return false
			}
		}
		return true
	}
}

// TestAWalkFromLaunchToAttach drives the program as a reader does: the start, a window by w, its breakdown, one on a condition, one taken back,
// leaving, coming back, and stopping after a question.
func TestAWalkFromLaunchToAttach(t *testing.T) {
	l := newLaunched(t)
	l.environ = append(l.environ, fakeserver.Options{ReadyMS: 1500, StallMS: 300}.Environ())
	x := startCommand(t, 120, 40, l.environ, "opprof", "launch", "-c", l.config)
	x.await("the start", says("starting", "✓ configuring", "► loading weights", "what the server said"))
	x.await("a step", func(s string) bool { return full(s) && strings.Contains(s, "● busy") })
	x.press("w")
	x.await("its end", says("window 1 verified: steps"))
	x.press("2")
	x.await("the window", says("1  ✓ verified", "1 of 1"))
	x.await("its breakdown", says("no kernel times: its traces hold no device work", "iterations  ms, families of rank 0"))
	x.press("W")
	x.await("the form", says("arm profiler windows", "the last window for", "250 ms after it completed"))
	x.press("decode_b\t >= 100")
	x.await("the condition", says("decode_batch_size >= 100", "does not hold now"))
	x.press("\r")
	x.await("what waits", says("window 2 armed", "2  ○ armed", "held for 0 of 1 step"))
	x.press("Gx")
	x.await("what was taken back", says("2  ○ cancelled"))
	x.press("a")
	x.await("the activity", says("window 2  when decode_batch_size >= 100  by this screen", "server starting", "cancel window 2"))
	x.press("q")
	x.await("the page again", func(s string) bool { return !strings.Contains(s, "server starting") })
	x.press("q")
	if code := x.ended(); code != 0 {
		t.Errorf("launch ended with %d", code)
	}

	y := startCommand(t, 120, 40, l.environ, "opprof", "attach", "latest", "--readonly")
	y.await("the run again", func(s string) bool { return full(s) && strings.Contains(s, "● busy") })
	y.press("w")
	y.await("why not", says("attach without --readonly"))
	y.press("q")
	if code := y.ended(); code != 0 {
		t.Errorf("attach --readonly ended with %d", code)
	}

	z := startCommand(t, 120, 40, l.environ, "opprof", "attach", "latest")
	z.await("the run again", func(s string) bool { return full(s) && strings.Contains(s, "● busy") })
	z.press("4\x18")
	z.await("the question", says("Stop ", "[►No (n) ]"))
	z.await("an answer", func(s string) bool {
		if strings.Contains(s, "[►No (n) ]") {
			z.press("y") // what comes too early is not read
		}
		return strings.Contains(s, "stopped: ordered by a client")
	})
	z.press("q")
	if code := z.ended(); code != 0 {
		t.Errorf("attach ended with %d", code)
	}
	l.expect("state    stopped", "status")
}

// TestAStartThatFailsShowsTheCause: the screen stays with the cause, not with the last lines.
func TestAStartThatFailsShowsTheCause(t *testing.T) {
	l := newLaunched(t)
	l.environ = append(l.environ, fakeserver.Options{Fault: fakeserver.DiesAtStart}.Environ())
	x := startCommand(t, 120, 40, l.environ, "opprof", "launch", "-c", l.config)
	x.await("the cause", says("ValueError: No available", "gpu_memory_utilization"))
	x.press("q")
	x.ended()
}

// supervisorPID is the process of the run's newest supervisor, by its journal.
func (l *launched) supervisorPID() int {
	l.t.Helper()
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(l.config), "runs", "*", rundir.JournalName))
	if err != nil || len(paths) != 1 {
		l.t.Fatalf("journals: %v (%v)", paths, err)
	}
	found, err := journal.Read(paths[0])
	if err != nil {
		l.t.Fatal(err)
	}
	var started struct {
		PID int `json:"pid"`
	}
	for _, e := range found.Entries {
		if e.Event != "supervisor_started" {
			continue
		}
		if err := e.Decode(&started); err != nil {
			l.t.Fatal(err)
		}
	}
	if started.PID <= 0 {
		l.t.Fatal("no supervisor in the journal")
	}
	return started.PID
}

// TestAScreenOutlivesItsSupervisor: it says that there is none, and finds the one that takes the run over.
func TestAScreenOutlivesItsSupervisor(t *testing.T) {
	l := newLaunched(t)
	x := startCommand(t, 140, 40, l.environ, "opprof", "launch", "-c", l.config)
	x.await("a step", func(s string) bool { return full(s) && strings.Contains(s, "● busy") })
	if err := syscall.Kill(l.supervisorPID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	x.await("that nobody supervises", says(" no supervisor "))
	l.expect("window", "window", "arm", "latest", "--wait") // takes the run over
	x.await("the next supervisor", func(s string) bool { return !strings.Contains(s, " no supervisor ") && strings.Contains(s, "● busy") })
	x.press("w")
	x.await("its end", says("window 2 verified"))
	x.press("q")
	if code := x.ended(); code != 0 {
		t.Errorf("launch ended with %d", code)
	}
}
