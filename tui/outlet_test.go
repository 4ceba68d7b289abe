package tui

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// A terminal that takes nothing holds up neither writers nor the end; everything that it takes is in order.
func TestOutlet(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	o := newOutlet(slave, func(err error) { t.Error(err) })
	read := func(n int) string {
		buf := make([]byte, n)
		if _, err := io.ReadFull(master, buf); err != nil {
			t.Fatal(err)
		}
		return string(buf)
	}
	for _, text := range []string{"one", "two", "three"} {
		if n, err := o.Write([]byte(text)); n != len(text) || err != nil {
			t.Error(n, err)
		}
	}
	if got := read(11); got != "onetwothree" {
		t.Errorf("read %q", got)
	}
	if !o.drain(20*time.Second) || o.behind() {
		t.Error("what was taken is still waited for")
	}
	picture := bytes.Repeat([]byte("x"), 1<<20)
	if _, err := o.Write(picture); err != nil {
		t.Error(err)
	}
	if o.drain(2*slowWrite) || !o.behind() {
		t.Error("a full terminal is not behind")
	}
	if err := o.force("\x18restored"); err != nil {
		t.Error(err)
	}
	o.end()
	if n, err := o.Write([]byte("late")); n != 4 || err != nil {
		t.Errorf("after the end: %d, %v", n, err)
	}
	_ = slave.Close()
	rest, _ := io.ReadAll(master) // ends with EIO
	if !strings.HasSuffix(string(rest), "\x18restored") || len(rest) > len(picture)/2 {
		t.Errorf("%d bytes, the last of them %q", len(rest), rest[max(0, len(rest)-20):])
	}
}

// An error of the terminal is told once and ends the writing.
func TestOutletOfALostTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	lost := make(chan error, 8)
	o := newOutlet(w, func(err error) { lost <- err })
	defer o.end()
	_ = r.Close()
	_, _ = o.Write([]byte("x"))
	if err := <-lost; err == nil {
		t.Error("no reason")
	}
	if o.drain(20*time.Second) || !o.gone() {
		t.Error("a lost terminal has taken everything")
	}
	if _, err := o.Write([]byte("y")); err == nil {
		t.Error("a lost terminal is written to")
	}
	if err := o.force("z"); !errors.Is(err, errNoDeadline) {
		t.Error(err)
	}
	if len(lost) > 0 {
		t.Error("lost twice")
	}
}

// What stays on the terminal is written like everything before it: one that takes the last picture and no more holds nobody up.
func TestLastLinesOnAFullTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		last    string
		stalled bool
	}{"taken": {"farewell\n", false}, "more than it takes": {strings.Repeat("farewell\n", 100_000), true}} {
		t.Run(name, func(t *testing.T) {
			master, slave, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer master.Close()
			x := newConsole(slave, slave, func(err error) { t.Error(err) }, func(string) string { return "" })
			if stalled := x.leave(2*slowWrite, c.last); stalled != c.stalled {
				t.Errorf("stalled %t", stalled)
			}
			_ = slave.Close()
			rest, _ := io.ReadAll(master) // ends with EIO
			text, restored := string(rest), strings.HasSuffix(string(rest), restoreScreen)
			if restored != c.stalled || !c.stalled && !strings.HasPrefix(text, popTitle+"farewell") {
				t.Errorf("%d bytes, the last of them %q", len(text), text[max(0, len(text)-200):])
			}
		})
	}
}

// What is larger than any terminal is cut, and said.
func TestFittedSizes(t *testing.T) {
	for _, c := range []struct{ w, h, wantW, wantH int }{{80, 24, 80, 24}, {500, 200, 500, 200}, {501, 24, 500, 24}, {65535, 65535, 500, 200}, {1, 1, 1, 1}} {
		size, cut := fitted(c.w, c.h)
		if size.Width != c.wantW || size.Height != c.wantH || (cut != "") != (c.w != c.wantW || c.h != c.wantH) {
			t.Errorf("%d x %d: %+v, %q", c.w, c.h, size, cut)
		}
	}
}

// While the terminal is behind no new picture is made for it.
func TestNoPicturesForABusyTerminal(t *testing.T) {
	lines := recording(t, "h200-tp1", 20)
	busy := false
	s := newScreen(t, &fakeSource{store: filled(lines)}, newestTime(lines).Add(time.Second), Options{behind: func() bool { return busy }})
	s.size(100, 30)
	s.tick(time.Second)
	before := s.m.View().Content
	busy = true
	s.tick(10 * time.Second)
	if s.m.View().Content != before {
		t.Error("another picture")
	}
	busy = false
	if s.m.View().Content == before {
		t.Error("the picture stays")
	}
}
