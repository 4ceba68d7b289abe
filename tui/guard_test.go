package tui

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/trap"
	"opprof/tui/chart"
)

// TestPanicsEndInOrder: a panic in Update or in a command leaves the alternate screen, shows the cursor, and is what Run returns.
func TestPanicsEndInOrder(t *testing.T) {
	lines := recording(t, "h200-tp1", 300)
	for _, where := range []string{"update", "command"} {
		t.Run(where, func(t *testing.T) {
			source := &fakeSource{run: describe("live"), store: filled(lines)}
			var armed atomic.Bool
			p := startProgram(t, source, newestTime(lines), 80, 24, func(o *Options) {
				now := o.Now
				o.Now = func() time.Time { // the first thing that a tick looks at
					if where == "update" && armed.Load() {
						panic("the clock broke")
					}
					return now()
				}
			})
			p.expect("first picture")
			armed.Store(true)
			if where == "command" {
				source.mu.Lock()
				source.store = nil
				source.mu.Unlock()
			}
			p.ticks <- p.at
			err := p.end()
			var crash *trap.Panic
			if !errors.As(err, &crash) || !strings.Contains(string(crash.Stack), "opprof/tui") {
				t.Fatalf("Run returned %v", err)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.em.IsAltScreen() || p.em.CursorHidden() {
				t.Errorf("alternate screen %v, cursor hidden %v", p.em.IsAltScreen(), p.em.CursorHidden())
			}
		})
	}
}

// brokenPage panics when it is drawn.
type brokenPage struct{ page }

func (brokenPage) draw(*chart.Grid) { panic("no picture") }

// TestPanicInView: the last view stays, and the program is told.
func TestPanicInView(t *testing.T) {
	s := liveScreen(t)
	before := s.content()
	s.m.pages[0] = brokenPage{s.m.pages[0]}
	s.m.stale = true
	var told error
	g := guarded{s.m, func(err error) { told = err }}
	if got := g.View().Content; got != before {
		t.Error("another view than the last one")
	}
	var crash *trap.Panic
	if !errors.As(told, &crash) || !strings.Contains(crash.Where, "brokenPage") {
		t.Errorf("told %v", told)
	}
}

// TestPanicsInBatches: commands inside a batch, and inside a batch in it, are watched too.
func TestPanicsInBatches(t *testing.T) {
	var told []error
	g := guarded{nil, func(err error) { told = append(told, err) }}
	bad := func() tea.Msg { panic("no") }
	var run func(cmd tea.Cmd)
	run = func(cmd tea.Cmd) {
		if batch, ok := cmd().(tea.BatchMsg); ok {
			for _, c := range batch {
				run(c)
			}
		}
	}
	fine := func() tea.Msg { return nil }
	run(g.watch(tea.Batch(bad, tea.Batch(bad, fine), fine)))
	if len(told) != 2 {
		t.Errorf("told of %d panics, want 2", len(told))
	}
}

// TestLostTerminal: whatever ends the input or the output, the end is told, and bytes that came before it are not lost.
func TestLostTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var told []error
	lost := func(err error) { told = append(told, err) }
	in, out := watchedFile{r, lost}, watchedFile{w, lost}
	buf := make([]byte, 8)
	if _, err := out.Write([]byte("q")); err != nil || len(told) != 0 {
		t.Fatal(err, told)
	}
	if n, err := in.Read(buf); n != 1 || err != nil || len(told) != 0 {
		t.Fatal(n, err, told)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Read(buf); err == nil || len(told) != 1 {
		t.Errorf("end of input: %v, told %v", err, told)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write([]byte("x")); err == nil || len(told) != 2 {
		t.Errorf("broken output: %v, told %v", err, told)
	}
}

// TestLostIsTheReason: what was lost is what Run returns, not what Bubble Tea makes of it.
func TestLostIsTheReason(t *testing.T) {
	s := liveScreen(t)
	ctx, end := context.WithCancelCause(t.Context())
	end(ErrLost)
	if err := s.m.reason(ctx, tea.ErrProgramKilled); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	fine, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	if err := s.m.reason(fine, nil); err != nil {
		t.Error(err)
	}
}
