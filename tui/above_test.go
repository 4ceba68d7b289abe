package tui

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/rundir"
	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

// listPage is a list of ten runs, of which enter opens the one under the cursor.
type listPage struct {
	cursor, pulls int
}

func (p *listPage) name() string                          { return "list" }
func (p *listPage) keys() keys.Context                    { return keys.ContextList }
func (p *listPage) resize(int, int)                       {}
func (p *listPage) want() want                            { p.pulls++; return want{server: true} }
func (p *listPage) take(want, picture)                    {}
func (p *listPage) seek(string) (tea.Cmd, error)          { return nil, errors.New("nowhere") }
func (p *listPage) receive(tea.Msg) tea.Cmd               { return nil }
func (p *listPage) needs() keys.Need                      { return 0 }
func (p *listPage) position() panel.Position              { return panel.Position{} }
func (p *listPage) explain() (string, []panel.Definition) { return "", nil }
func (p *listPage) copied() []string                      { return nil }
func (p *listPage) header(g *chart.Grid, _ panel.Status) {
	g.Text(0, 0, g.W(), "ten runs", theme.RoleText)
}
func (p *listPage) draw(g *chart.Grid) {
	g.Text(0, 3, g.W(), "run "+strconv.Itoa(p.cursor)+" is selected", theme.RoleText)
}

func (p *listPage) press(b keys.Binding) tea.Cmd {
	switch b.ID {
	case keys.Down:
		p.cursor = min(9, p.cursor+1)
	case keys.Up:
		p.cursor = max(0, p.cursor-1)
	case keys.Accept:
		return open("/runs/" + strconv.Itoa(p.cursor))
	}
	return nil
}

// listSource knows nothing of steps.
type listSource struct{ path string }

func (s listSource) Run() rundir.Description { return rundir.Description{ID: "runs", Path: s.path} }

// opener opens recorded runs and counts what becomes of them.
type opener struct {
	t         testing.TB
	opened    []string
	closed    int
	err       error
	pageFirst string
	source    *fakeSource
}

func (o *opener) open(_ context.Context, path string) (*Screen, error) {
	o.opened = append(o.opened, path)
	if o.err != nil {
		return nil, o.err
	}
	lines := recording(o.t, "h200-tp1", 400)
	o.source = &fakeSource{run: describe("live"), store: filled(lines)}
	return &Screen{Source: o.source, Page: o.pageFirst, Close: func() error { o.closed++; return nil }}, nil
}

// listScreen is a screen whose one page is a list.
func listScreen(t testing.TB, opt Options) (*screen, *listPage, *opener) {
	o := &opener{t: t}
	opt.Open = o.open
	s := newScreen(t, &fakeSource{run: describe("live"), store: filled(nil)}, time.Unix(1_796_003_500, 0), opt)
	list := &listPage{}
	s.m.pages = []page{list}
	s.m.feed.source = listSource{"/runs"}
	s.size(100, 30)
	return s, list, o
}

func (s *screen) top() *Model {
	m := s.m
	for m.above != nil {
		m = m.above
	}
	return m
}

func (s *screen) seen() string {
	s.m.View()
	return s.top().grid.Plain()
}

func (s *screen) shows(want, not string) {
	s.t.Helper()
	seen := s.seen()
	if !strings.Contains(seen, want) || not != "" && strings.Contains(seen, not) {
		s.t.Errorf("want %q and not %q in\n%s", want, not, seen)
	}
}

func TestScreenAboveAList(t *testing.T) {
	s, list, o := listScreen(t, Options{})
	s.tick(time.Second)
	s.shows("ten runs", "step period")
	s.shows("q quit", "q back")
	s.keys("j", "j", "j", "enter")
	s.shows("step period", "ten runs")
	s.shows("q back", "q quit")
	if len(o.opened) != 1 || o.opened[0] != "/runs/3" || o.closed != 0 {
		t.Fatalf("opened %q, closed %d", o.opened, o.closed)
	}
	s.keys("j", "enter") // the keys are the run's now: another panel, maximised
	if list.cursor != 3 || len(o.opened) != 1 {
		t.Errorf("keys reach the list below: cursor %d, opened %q", list.cursor, o.opened)
	}
	s.size(120, 40)
	if got := s.top().width; got != 120 {
		t.Errorf("the run is %d columns wide", got)
	}
	s.keys("t", "q")
	s.shows("run 3 is selected", "step period")
	s.shows("q quit", "q back")
	if o.closed != 1 || s.m.above != nil {
		t.Errorf("closed %d times", o.closed)
	}
	if s.m.width != 120 || s.m.theme.Name != "light" {
		t.Errorf("the list is %d columns wide in theme %s", s.m.width, s.m.theme.Name)
	}
	s.keys("enter")
	s.shows("step period", "ten runs")
	if got := s.top().theme.Name; got != "light" || len(o.opened) != 2 {
		t.Errorf("theme %s, opened %q", got, o.opened)
	}
}

func TestScreenThatDoesNotOpen(t *testing.T) {
	s, _, o := listScreen(t, Options{})
	o.err = errors.New("cannot open run: the folder is gone")
	s.keys("enter")
	s.shows("cannot open 0: cannot open run: the folder is gone", "step period")
	s.m.shelf.open = nil
	s.keys("enter")
	s.shows("this screen opens no other one", "")
}

// TestOpensOneAtATime: who presses enter again while a run is being opened gets one screen, and can open another one afterwards.
func TestOpensOneAtATime(t *testing.T) {
	s, _, o := listScreen(t, Options{})
	first, second := s.m.openRun("/runs/1"), s.m.openRun("/runs/2")
	if first == nil || second != nil {
		t.Fatal("two runs are being opened")
	}
	s.run(first)
	s.keys("q", "enter", "q")
	o.err = errors.New("gone")
	s.keys("enter", "enter")
	if len(o.opened) != 4 || o.closed != 2 {
		t.Errorf("opened %q, closed %d", o.opened, o.closed)
	}
}

// TestEndFromAbove: ^C ends the program from a screen that was opened, also in a dialog, and closing takes what is open with it.
func TestEndFromAbove(t *testing.T) {
	for _, before := range [][]string{nil, {"/"}, {"?"}} {
		s, _, o := listScreen(t, Options{})
		s.keys("enter")
		s.keys(before...)
		_, cmd := s.m.Update(press("ctrl+c"))
		if cmd == nil || cmd() != tea.Quit() {
			t.Errorf("after %q ^C does not end the program", before)
		}
		if s.m.ctx.Err() == nil || s.m.above == nil {
			t.Errorf("after %q the questions go on", before)
		}
		s.m.shelf.close(s.m.opt.Log)
		s.m.shelf.close(s.m.opt.Log)
		if o.closed != 1 {
			t.Errorf("closed %d times", o.closed)
		}
		if _, err := s.m.shelf.take(context.Background(), "/runs/1"); err == nil {
			t.Error("a program that has ended opens a run")
		}
	}
}

// TestMessagesOfScreens: what a screen has asked for is for it alone. What comes late is for nobody, and the list's clock stands meanwhile.
func TestMessagesOfScreens(t *testing.T) {
	s, list, o := listScreen(t, Options{})
	s.keys("enter")
	above := s.m.above
	pulls, asked := list.pulls, len(o.source.asked())
	s.tick(time.Second) // the list's
	if list.pulls != pulls || !s.m.paused {
		t.Errorf("the list goes on below: %d pulls", list.pulls-pulls)
	}
	s.send(aboveMsg{above, TickMsg(s.clock.at)})
	if len(o.source.asked()) == 0 || asked == 0 {
		t.Error("the run's tick does not ask it")
	}
	s.send(noticeMsg("the terminal is large"))
	s.shows("the terminal is large", "")
	cmd := above.own(tea.Batch(func() tea.Msg { return momentMsg{} }, tea.ClearScreen))
	var own, others int
	for _, c := range cmd().(tea.BatchMsg) {
		if _, ok := c().(aboveMsg); ok {
			own++
		} else {
			others++
		}
	}
	if own != 1 || others != 1 {
		t.Errorf("%d of our messages and %d of the program's", own, others)
	}
	s.keys("q")
	if s.m.paused || list.pulls == pulls {
		t.Error("the list does not go on")
	}
	pulls = list.pulls
	s.send(aboveMsg{above, TickMsg(s.clock.at)})
	s.send(aboveMsg{above, pictureMsg{err: errors.New("late")}})
	if list.pulls != pulls || s.m.feed.err != nil {
		t.Error("a message of a screen that was left reaches the list")
	}
}

// TestStateOfScreens: what was chosen for a run is kept through a list, and found again in the next run.
func TestStateOfScreens(t *testing.T) {
	s, _, o := listScreen(t, Options{State: State{Page: "live", Density: "compact", Focus: "kv"}})
	if got := s.m.state(); got.Page != "live" || got.Density != "compact" || got.Focus != "kv" {
		t.Errorf("the list forgets: %+v", got)
	}
	s.keys("enter", "d", "q")
	if got := s.m.state(); got.Density != "normal" {
		t.Errorf("the run's choice is lost: %+v", got)
	}
	o.pageFirst = "no such page"
	s.keys("enter")
	s.shows("step period", "ten runs")
	if got := s.m.state(); got.Density != "normal" || got.Page != "live" {
		t.Errorf("the next run begins otherwise: %+v", got)
	}
}
