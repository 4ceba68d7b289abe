package tui

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/vt"

	"opprof/engine/record"
)

// terminal is an emulated one: the program writes to it and reads its keys and answers from it.
type terminal struct {
	mu      sync.Mutex
	em      *vt.Emulator
	count   int           // bytes written
	written chan struct{} // holds a token when something was written since the last look
	held    chan struct{} // a stalled link: writes wait until it is closed; nil is none
	waits   chan struct{} // holds a token when a write began to wait
}

func newTerminal(t *testing.T, w, h int) *terminal {
	term := &terminal{em: vt.NewEmulator(w, h), written: make(chan struct{}, 1), waits: make(chan struct{}, 1)}
	t.Cleanup(func() { _ = term.em.InputPipe().(io.Closer).Close() }) // ends the program's reader; Emulator.Close races with it
	return term
}

func (t *terminal) Read(p []byte) (int, error) { return t.em.Read(p) }

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	held := t.held
	t.mu.Unlock()
	if held != nil {
		select {
		case t.waits <- struct{}{}:
		default:
		}
		<-held
	}
	t.mu.Lock()
	t.count += len(p)
	// The program finds no terminal device here and leaves the line discipline's part to it: a newline also returns the carriage.
	_, err := t.em.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n")))
	t.mu.Unlock()
	select {
	case t.written <- struct{}{}:
	default:
	}
	return len(p), err
}

// hold stalls the link until the returned function is called.
func (t *terminal) hold() (release func()) {
	held := make(chan struct{})
	t.mu.Lock()
	t.held = held
	t.mu.Unlock()
	return func() {
		t.mu.Lock()
		t.held = nil
		t.mu.Unlock()
		close(held)
	}
}

// press types text, which the program reads as keys.
func (t *terminal) press(s string) { _, _ = t.em.InputPipe().Write([]byte(s)) }

// screen is what a reader sees.
func (t *terminal) screen() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := make([]string, t.em.Height())
	for y := range lines {
		var b strings.Builder
		for x := range t.em.Width() {
			if c := t.em.CellAt(x, y); c != nil && c.Content != "" {
				b.WriteString(c.Content)
			} else {
				b.WriteByte(' ')
			}
		}
		lines[y] = b.String()
	}
	return strings.Join(lines, "\n")
}

func (t *terminal) bytesWritten() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// await waits until the screen is as wanted, looking after each write.
func (t *terminal) await(tb testing.TB, what string, ok func(screen string) bool) {
	tb.Helper()
	late := time.NewTimer(90 * time.Second)
	defer late.Stop()
	for !ok(t.screen()) {
		select {
		case <-t.written:
		case <-late.C:
			tb.Fatalf("%s: the screen is\n%s", what, t.screen())
		}
	}
}

// program is the real one on an emulated terminal, with a clock and ticks of the test.
type program struct {
	*terminal
	t      *testing.T
	source *fakeSource
	ticks  chan time.Time
	at     time.Time
	w, h   int
	cancel context.CancelFunc
	ended  chan error
}

func startProgram(t *testing.T, source Source, at time.Time, w, h int, changes ...func(*Options)) *program {
	fake, _ := source.(*fakeSource)
	p := &program{
		terminal: newTerminal(t, w, h), t: t, source: fake, ticks: make(chan time.Time), at: at, w: w, h: h, ended: make(chan error, 1),
	}
	ctx, cancel := context.WithCancel(t.Context())
	p.cancel = cancel
	over := make(chan struct{})
	opt := p.options()
	for _, change := range changes {
		change(&opt)
	}
	opt.Tick = func(_ time.Duration, msg func(time.Time) tea.Msg) tea.Cmd {
		return func() tea.Msg {
			select {
			case at := <-p.ticks:
				return msg(at)
			case <-over:
				return nil
			}
		}
	}
	go func() {
		p.ended <- Run(ctx, source, opt)
		close(over)
	}()
	t.Cleanup(cancel)
	return p
}

func (p *program) options() Options {
	env := map[string]string{"TERM": "xterm-256color", "LANG": "C.UTF-8"}
	return Options{
		Zone: time.UTC, Env: func(k string) string { return env[k] }, Now: p.now,
		Tea: []tea.ProgramOption{
			tea.WithInput(p.terminal), tea.WithOutput(p.terminal), tea.WithWindowSize(p.w, p.h), tea.WithoutSignals(),
			tea.WithEnvironment([]string{"TERM=xterm-256color", "LANG=C.UTF-8"}), tea.WithColorProfile(colorprofile.ANSI256),
		},
	}
}

func (p *program) now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at
}

// pass moves the clock.
func (p *program) pass(d time.Duration) {
	p.mu.Lock()
	p.at = p.at.Add(d)
	p.mu.Unlock()
}

// expect waits for the screen that a model of the same state draws without a terminal.
func (p *program) expect(what string, keys ...string) {
	p.t.Helper()
	s := newScreen(p.t, p.source, p.at, Options{})
	s.size(p.w, p.h)
	s.tick(0)
	s.keys(keys...)
	s.tick(0)
	want := s.plain()
	p.await(p.t, what, func(got string) bool { return got == want })
}

// end waits for the end of the program.
func (p *program) end() error {
	p.t.Helper()
	select {
	case err := <-p.ended:
		return err
	case <-time.After(90 * time.Second):
		p.t.Fatal("the program does not end")
	}
	return nil
}

// TestProgramOnTerminal: what the emulated terminal shows after all the partial writes is the view, through new steps, keys and a quit.
func TestProgramOnTerminal(t *testing.T) {
	lines := recording(t, "h200-tp1", 2000)
	source := &fakeSource{run: describe("live"), store: filled(lines[:1500])}
	p := startProgram(t, source, newestTime(lines), 120, 40)
	p.expect("first picture")
	for at := 1500; at < 2000; at += 100 {
		grow(source, lines[at:at+100])
		p.ticks <- p.at
		p.expect("after new steps")
	}
	p.press("\t")
	p.expect("focus", "tab")
	p.press("?")
	p.expect("help", "tab", "?")
	p.press("q")
	p.expect("help closed", "tab")
	p.press("q")
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.em.IsAltScreen() {
		t.Error("the program leaves the alternate screen on")
	}
}

func grow(s *fakeSource, lines []record.Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range lines {
		s.store.Line(0, &lines[i])
	}
}

// TestProgramIdleWritesNothing: ticks without news write no byte.
func TestProgramIdleWritesNothing(t *testing.T) {
	lines := recording(t, "h200-tp2-eager", 0)
	source := &fakeSource{run: describe("finished"), store: filled(lines)}
	p := startProgram(t, source, newestTime(lines), 100, 30)
	p.expect("first picture")
	before := p.bytesWritten()
	for range 30 {
		p.ticks <- p.at
	}
	p.press("q")
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	// Leaving the alternate screen and the modes takes a few sequences, a frame would take thousands of bytes.
	if n := p.bytesWritten() - before; n > 400 {
		t.Errorf("%d bytes for ticks without news and the end", n)
	}
}

// TestProgramStalledLink: a terminal that takes nothing for a while loses nothing and gets the newest picture afterwards.
func TestProgramStalledLink(t *testing.T) {
	lines := recording(t, "h200-tp1", 2000)
	source := &fakeSource{run: describe("live"), store: filled(lines[:1000])}
	p := startProgram(t, source, newestTime(lines), 80, 24)
	p.expect("first picture")
	release := p.hold()
	p.ticks <- p.at
	grow(source, lines[1000:])
	release()
	p.ticks <- p.at
	p.ticks <- p.at
	p.expect("after the stall")
	p.press("q")
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
}

// TestRunEndsOnStalledLink: a program that is told to end does so even when the terminal takes no output.
func TestRunEndsOnStalledLink(t *testing.T) {
	lines := recording(t, "h200-tp1", 300)
	source := &fakeSource{run: describe("live"), store: filled(lines[:200])}
	p := startProgram(t, source, newestTime(lines), 80, 24)
	p.expect("first picture")
	release := p.hold()
	grow(source, lines[200:])
	p.ticks <- p.at
	p.cancel()
	if err := p.end(); err == nil {
		t.Error("ended without an error")
	}
	release()
}

// TestRunEndsWithContext: the end of the context ends the program.
func TestRunEndsWithContext(t *testing.T) {
	lines := recording(t, "h200-tp1", 100)
	p := startProgram(t, &fakeSource{run: describe("live"), store: filled(lines)}, newestTime(lines), 80, 24)
	p.expect("first picture")
	p.cancel()
	if err := p.end(); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("got %v", err)
	}
}

// TestRunRefusesBadTheme: a wrong preference is an error before the terminal is touched.
func TestRunRefusesBadTheme(t *testing.T) {
	term := newTerminal(t, 80, 24)
	opt := Options{Tea: []tea.ProgramOption{tea.WithOutput(term), tea.WithInput(nil)}}
	opt.Theme.Theme = "solarised"
	err := Run(t.Context(), &fakeSource{}, opt)
	if err == nil || !strings.Contains(err.Error(), "solarised") || term.bytesWritten() != 0 {
		t.Errorf("got %v, %d bytes written", err, term.bytesWritten())
	}
}

// hastened is a recording in which everything takes 1/speed of its time.
func hastened(lines []record.Line, speed int64) []record.Line {
	var wall, mono int64
	for i := range lines {
		s := &lines[i].Step
		if lines[i].Kind != record.KindStep {
			continue
		}
		if wall == 0 {
			wall, mono = s.SubmitWallNS, s.SubmitMonoNS
		}
		s.SubmitWallNS = wall + (s.SubmitWallNS-wall)/speed
		s.SubmitMonoNS = mono + (s.SubmitMonoNS-mono)/speed
		s.CompleteMonoNS = mono + (s.CompleteMonoNS-mono)/speed
	}
	return lines
}

// TestScreenBytes: a recording at its own rate and at ten times that writes no more than a slow link carries, 20 KB a second at 180 x 50.
func TestScreenBytes(t *testing.T) {
	const budget = 20 << 10
	for _, speed := range []int{1, 10} {
		t.Run(fmt.Sprintf("speed %d", speed), func(t *testing.T) {
			lines := hastened(recording(t, "h200-tp1", 0), int64(speed))
			source := &fakeSource{run: describe("live"), store: filled(lines[:1000])}
			p := startProgram(t, source, newestTime(lines[:1000]), 180, 50)
			p.expect("first picture")
			before, at := p.bytesWritten(), 1000
			const ticks = 40
			for range ticks {
				p.pass(tickEvery)
				for edge := p.now().UnixNano(); at < len(lines) && completed(&lines[at]) <= edge; at++ {
					grow(source, lines[at:at+1])
				}
				p.ticks <- p.now()
				p.expect("a tick")
			}
			perSecond := (p.bytesWritten() - before) / (ticks * int(tickEvery) / int(time.Second))
			t.Logf("%d bytes a second", perSecond)
			if perSecond > budget {
				t.Errorf("%d bytes a second, budget %d", perSecond, budget)
			}
			p.press("q")
			if err := p.end(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// completed is the wall-clock time of a step's end; 0 for lines of other kinds, which need not be waited for.
func completed(l *record.Line) int64 {
	if l.Kind != record.KindStep {
		return 0
	}
	return l.Step.SubmitWallNS + l.Step.SubmitToCompleteNS()
}
