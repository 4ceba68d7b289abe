package tui

import (
	tea "charm.land/bubbletea/v2"

	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/panel"
)

// page is one screen of the program below its header. All methods run on the event loop: they do no I/O and return at once; what takes
// time is returned as a command, whose message comes back through receive.
type page interface {
	// name stands in the tab line.
	name() string
	// keys is the context that key presses are matched in.
	keys() keys.Context
	// resize tells the size of the whole screen.
	resize(width, height int)
	// want is what the page needs to see at the next pull.
	want() want
	// take shows a picture. It answers an earlier want, perhaps not the last one.
	take(w want, p picture)
	// press acts on a key of the page.
	press(b keys.Binding) tea.Cmd
	// seek goes to what a reader typed; the error says what the page understands.
	seek(text string) (tea.Cmd, error)
	// receive takes a message that is not routed anywhere else. Messages of other pages are ignored.
	receive(msg tea.Msg) tea.Cmd
	// needs is what the moment provides for keys.
	needs() keys.Need
	// draw fills the lines between the tab line and the footer of g, which is the whole screen.
	draw(g *chart.Grid)
	// position is what the tab line says about the moment that is shown.
	position() panel.Position
	// explain are the definitions of what has the focus, under a title.
	explain() (title string, definitions []panel.Definition)
	// copied are the lines of what has the focus, to be copied. They need not be safe yet.
	copied() []string
}

// headed is a page whose first line is its own.
type headed interface {
	// header fills the first line of the screen.
	header(g *chart.Grid, s panel.Status)
}

// noticeMsg is a short message for the footer.
type noticeMsg string

// notice returns a command that shows a message in the footer.
func notice(s string) tea.Cmd { return func() tea.Msg { return noticeMsg(s) } }
