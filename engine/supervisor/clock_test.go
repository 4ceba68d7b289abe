package supervisor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"opprof/engine/control"
	"opprof/engine/journal"
	"opprof/engine/supervisor/fakeserver"
)

// jumpy is a clock whose wall time somebody sets.
type jumpy struct {
	journal.SystemClock
	jumpNS *atomic.Int64
}

func (j jumpy) WallNS() int64 { return j.SystemClock.WallNS() + j.jumpNS.Load() }

// TestAClockThatJumps: neither an hour back nor a day ahead ends, stalls or mistakes anything.
func TestAClockThatJumps(t *testing.T) {
	c := newConfig(t, fakeserver.Options{}, 1)
	clock := jumpy{jumpNS: &atomic.Int64{}}
	c.Clock, c.StartTimeout = clock, time.Hour
	r := launch(t, c)
	r.state(control.Ready)
	for i, jump := range []time.Duration{-time.Hour, 24 * time.Hour} {
		clock.jumpNS.Store(int64(jump))
		if w := r.arm(control.Trigger{Kind: control.TriggerNow}, 1); w.State != control.WindowVerified {
			t.Errorf("window %d after a jump of %s: %+v", i+1, jump, w)
		}
		if w := r.arm(control.Trigger{Kind: control.TriggerAfter, AfterNS: int64(100 * time.Millisecond)}, 1); w.State != control.WindowVerified {
			t.Errorf("a window after a time: %+v", w)
		}
		if s := r.status(); s.State != control.Busy {
			t.Errorf("after a jump of %s: %s, %s", jump, s.State, s.Reason)
		}
	}
	has(t, r.end(), "stopped: ordered by a client")
}

// TestAFullDisk: a run on a disk without a byte left is served, refuses windows, says why, and its journal is written to its end.
func TestAFullDisk(t *testing.T) {
	c := newConfig(t, fakeserver.Options{}, 1)
	smallDisk(t, c.Dir, "3m")
	r := launch(t, c)
	r.state(control.Ready)
	fill(t, filepath.Join(c.Dir, "ballast"))
	_, err := r.client.Arm(t.Context(), control.Trigger{Kind: control.TriggerNow}, 1)
	refused := new(control.Error)
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "0 MiB free") || refused.Hint == "" {
		t.Errorf("a window on a full disk: %v", err)
	}
	if s := r.status(); !serving(s.State) || !s.JournalOK || *s.Cost.FreeBytes != 0 {
		t.Errorf("%+v", s)
	}
	if err := r.client.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-r.ended
	replay, err := journal.Read(filepath.Join(c.Dir, "journal.jsonl"))
	if err != nil || replay.Entries[len(replay.Entries)-1].Event != eventClosed {
		t.Errorf("the journal's last event: %+v, %v", replay.Last(), err)
	}
}

// TestADiskThatFillsInAWindow: the window says so, the server goes on, and the next window has room again.
func TestADiskThatFillsInAWindow(t *testing.T) {
	c := newConfig(t, fakeserver.Options{StepMS: 50}, 1)
	smallDisk(t, c.Dir, "56m")
	r := launch(t, c)
	r.state(control.Ready)
	if _, err := r.client.Arm(t.Context(), control.Trigger{Kind: control.TriggerNow}, 1); err != nil {
		t.Fatal(err)
	}
	r.await(eventWindow, map[string]any{"to": control.WindowRecording})
	ballast := filepath.Join(c.Dir, "ballast")
	fill(t, ballast)
	w := r.windowEnds(1)
	if w.State == control.WindowVerified || !strings.HasPrefix(w.Reason, "the disk of "+filepath.Join(c.Dir, "kineto")+" is full; ") {
		t.Errorf("%s: %s", w.State, w.Reason)
	}
	t.Logf("%s: %s", w.State, w.Reason)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if w := r.arm(control.Trigger{Kind: control.TriggerNow}, 1); w.State != control.WindowVerified {
		t.Errorf("the next window: %s: %s", w.State, w.Reason)
	}
	if s := r.status(); !s.JournalOK {
		t.Errorf("%+v", s)
	}
	has(t, r.end(), "stopped: ordered by a client")
}

// smallDisk makes a folder a disk of its own.
func smallDisk(t *testing.T, dir, size string) {
	t.Helper()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+size)
	if errors.Is(err, unix.EPERM) {
		t.Skip("only root may mount a small disk")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill writes until there is no room.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
}
