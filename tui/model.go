package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/alert"
	"opprof/engine/serverlog"
	"opprof/engine/store"
	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

// TickMsg pulls the next picture. Options.Tick sends it; tests send it themselves.
type TickMsg time.Time

// Model is the root of the program: it owns the terminal's size, the theme, the feed of pictures and what lies above the pages, and
// routes everything else to the visible page.
type Model struct {
	opt    Options
	ctx    context.Context // ends with the program: commands that are still out end with it
	cancel context.CancelFunc

	width, height int
	themes        []*theme.Theme
	theme         *theme.Theme
	themed        bool // the user has chosen: the terminal's answer about its background comes too late
	mouse         bool // the program reads it

	pages    []page
	visible  int
	feed     feed
	asked    want // of the request that is out, or of the last one
	newest   *store.Frame
	warnings []alert.Warning
	run      panel.Status

	link link            // to the run's supervisor
	log  *serverlog.View // of a server that starts; nil otherwise

	overlay *overlay // nil when there is none
	dialog  dialog   // nil when there is none
	prompt  *prompt  // nil when there is none
	notice  string
	fade    int // ticks until the notice goes

	above   *Model  // the screen that was opened from this one, and has all keys; nil when there is none
	opening bool    // one is on its way
	shelf   *shelf  // of all that were opened
	screen  *Screen // what this one shows, when it lies above another one
	leaving leaving
	paused  bool // the ticks have stopped below a screen

	grid  *chart.Grid
	view  tea.View
	stale bool // the view must be drawn again
}

// New returns the program's model over a source. The context bounds every question that it asks the source. The model belongs to one
// tea.Program, which may not be started twice.
func New(ctx context.Context, source Source, opt Options) (*Model, error) {
	opt = opt.filled()
	t, err := theme.Choose(opt.Env, opt.Theme)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	m := &Model{opt: opt, ctx: ctx, cancel: cancel, theme: t, mouse: !opt.NoMouse, feed: feed{source: source}, shelf: &shelf{open: opt.Open}, stale: true}
	m.link = link{to: opt.Control, readOnly: opt.ReadOnly}
	for _, other := range theme.All() {
		m.themes = append(m.themes, other.WithGlyphs(t.Glyphs))
	}
	run := source.Run()
	m.run.Run = run
	if m.pages = pagesOf(ctx, source, run, opt); len(m.pages) == 0 {
		cancel()
		return nil, errNoPage
	}
	m.restore(opt.State)
	if opt.Note != "" {
		m.say(opt.Note)
	}
	return m, nil
}

// Init starts the ticks, asks the terminal what it can do, and pulls the first picture.
func (m *Model) Init() tea.Cmd {
	return tea.Batch(m.begin(), m.querySync(), tea.RequestBackgroundColor)
}

// begin starts the ticks and pulls the first picture.
func (m *Model) begin() tea.Cmd { return tea.Batch(m.tick(), m.pull(), m.link.ask(m.ctx)) }

func (m *Model) tick() tea.Cmd {
	return m.opt.Tick(tickEvery, func(t time.Time) tea.Msg { return TickMsg(t) })
}

func (m *Model) page() page { return m.pages[m.visible] }

// pull asks for a new picture of the visible page. Before the terminal has told its size there is nothing to ask for, nor below a screen.
func (m *Model) pull() tea.Cmd {
	if m.width <= 0 || m.above != nil {
		return nil
	}
	w := m.wants()
	cmd := m.feed.pull(m.ctx, m.opt.Now(), w)
	if cmd != nil {
		m.asked = w
	}
	return cmd
}

// Update routes one message: to the screen above, when there is one and the message is for it, or to the parts of this one.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if cmd, ok := m.forward(msg); ok {
		return m, cmd
	}
	switch msg := msg.(type) {
	case TickMsg:
		return m, m.ticked()
	case pictureMsg:
		return m, m.arrived(msg)
	case tea.WindowSizeMsg:
		return m, m.resized(msg.Width, msg.Height)
	case tea.KeyPressMsg:
		return m, m.pressed(msg)
	case tea.MouseClickMsg:
		if msg.Button != tea.MouseLeft {
			return m, nil
		}
		return m, m.clicked(msg.X, msg.Y)
	case tea.MouseWheelMsg:
		if msg.Button != tea.MouseWheelUp && msg.Button != tea.MouseWheelDown {
			return m, nil
		}
		return m, m.wheeled(msg.X, msg.Y, msg.Button == tea.MouseWheelUp)
	case tea.PasteMsg:
		m.pasted(msg.Content)
		return m, nil
	case tea.BackgroundColorMsg:
		m.background(!msg.IsDark())
		return m, nil
	case tea.ModeReportMsg:
		m.opt.Log.Debug("terminal mode", "mode", msg.Mode.Mode(), "value", int(msg.Value))
		return m, nil
	case noticeMsg:
		m.say(string(msg))
		return m, nil
	case openMsg:
		return m, m.openRun(msg.path)
	case openedMsg:
		return m, m.opened(msg)
	case momentMsg:
		m.visible = 0
		return m, tea.Batch(m.page().receive(m.placed(msg)), m.pull())
	case tea.ResumeMsg:
		m.stale = true
		return m, m.pull()
	}
	if cmd, ok := m.controlled(msg); ok {
		return m, cmd
	}
	return m, m.handed(msg)
}

// handed gives a message that is not the program's own to the pages: it is the answer that one of them has asked for.
func (m *Model) handed(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	for _, p := range m.pages {
		if cmd := p.receive(msg); cmd != nil {
			cmds = append(cmds, cmd)
		}
	}
	if len(cmds) == 0 {
		return nil
	}
	m.stale = true
	return tea.Batch(append(cmds, m.pull())...)
}

func (m *Model) ticked() tea.Cmd {
	if m.above != nil {
		m.paused = true
		return nil
	}
	m.stale = true // the header tells times
	if m.fade > 0 {
		m.fade--
	}
	if m.feed.busy {
		return tea.Batch(m.tick(), m.link.ask(m.ctx))
	}
	return tea.Batch(m.tick(), m.link.ask(m.ctx), m.pull())
}

func (m *Model) arrived(msg pictureMsg) tea.Cmd {
	m.logAnswer(msg.err)
	again := m.feed.arrived(m.opt.Now(), msg.err)
	m.stale = true
	if msg.err == nil {
		m.run.Run = msg.run
		m.warnings = msg.warnings
		if newest := newestOf(msg.picture); newest != nil {
			m.newest = newest
		}
		if m.launching() {
			m.log = msg.picture.log
		}
		m.page().take(m.asked, msg.picture)
		m.appear()
	}
	if b, ok := m.page().(*board); again || msg.more || ok && b.behind() {
		return m.pull()
	}
	return nil
}

// logAnswer notes when the source begins to fail, and when it answers again.
func (m *Model) logAnswer(err error) {
	switch {
	case err != nil && (m.feed.err == nil || err.Error() != m.feed.err.Error()):
		m.opt.Log.Error("no picture", "error", err)
	case err == nil && m.feed.err != nil:
		m.opt.Log.Info("pictures again")
	}
}

// newestOf is the frame that the header speaks about: the one asked for it; else the moment under the cursor, when the run is finished; else
// the visible one.
func newestOf(p picture) *store.Frame {
	for _, f := range []*store.Frame{p.head, p.cursor, p.main} {
		if f != nil {
			return f
		}
	}
	return nil
}

func (m *Model) resized(width, height int) tea.Cmd {
	if width == m.width && height == m.height {
		return nil
	}
	m.width, m.height = width, height
	m.opt.Log.Debug("terminal resized", "columns", width, "rows", height)
	m.grid = nil
	m.stale = true
	for _, p := range m.pages {
		p.resize(width, height)
	}
	return m.pull()
}

func (m *Model) background(light bool) {
	if m.themed {
		return
	}
	m.opt.Theme.Light = &light
	if t, err := theme.Choose(m.opt.Env, m.opt.Theme); err == nil {
		m.theme = t
		m.stale = true
	}
}

// nextTheme walks through the themes.
func (m *Model) nextTheme() {
	next := 0
	for i, t := range m.themes {
		if t.Name == m.theme.Name {
			next = (i + 1) % len(m.themes)
		}
	}
	m.theme, m.themed = m.themes[next], true
	m.say("theme " + m.theme.Name)
}

func (m *Model) say(s string) {
	m.notice, m.fade = s, noticeTicks
	m.stale = true
}

// needs is what the moment provides for keys.
func (m *Model) needs() keys.Need {
	n := m.page().needs()
	n |= m.orders()
	if len(m.warnings) > 0 {
		n |= keys.NeedWarnings
	}
	return n
}
