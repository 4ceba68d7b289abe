package tui

import (
	tea "charm.land/bubbletea/v2"

	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/layout"
	"opprof/tui/panel"
)

// wheelLines is how many lines one notch of the wheel scrolls.
const wheelLines = 3

// pointed is a page that knows what lies where. Both methods get columns and lines of the whole screen.
type pointed interface {
	// click acts on the left button.
	click(x, y int) tea.Cmd
	// wheel acts on one notch.
	wheel(x, y int, up bool) tea.Cmd
}

// clicked routes a press of the left button: to the pages' names, or to the page.
func (m *Model) clicked(x, y int) tea.Cmd {
	m.stale = true
	switch {
	case !layout.Fits(m.width, m.height) || m.prompt != nil || m.dialog != nil:
		return nil
	case m.overlay != nil:
		if !m.overlay.at.In(x, y) {
			m.overlay = nil
		}
		return nil
	case y == 1:
		if i, ok := panel.TabAt(m.width, m.theme.Glyphs, m.position(), x); ok {
			return m.turn(i)
		}
		return nil
	}
	if p, ok := m.page().(pointed); ok {
		return tea.Batch(p.click(x, y), m.pull())
	}
	return nil
}

// wheeled scrolls what lies on top.
func (m *Model) wheeled(x, y int, up bool) tea.Cmd {
	m.stale = true
	if !layout.Fits(m.width, m.height) || m.prompt != nil || m.dialog != nil {
		return nil
	}
	id := keys.Down
	if up {
		id = keys.Up
	}
	if m.overlay != nil {
		for range wheelLines {
			m.overlay.move(id)
		}
		return nil
	}
	if p, ok := m.page().(pointed); ok {
		return tea.Batch(p.wheel(x, y, up), m.pull())
	}
	if c := m.page().keys(); c != keys.ContextList && c != keys.ContextLog && c != keys.ContextText && c != keys.ContextServer {
		return nil
	}
	var cmds []tea.Cmd
	for range wheelLines {
		cmds = append(cmds, m.page().press(keys.Binding{ID: id}))
	}
	return tea.Batch(append(cmds, m.pull())...)
}

// toggleMouse gives the mouse back to the terminal, whose selection then works as everywhere, or takes it again.
func (m *Model) toggleMouse() {
	m.mouse = !m.mouse
	if m.mouse {
		m.say("mouse on: click a panel, a page's name or the run's line; the wheel zooms or scrolls")
		return
	}
	m.say("mouse off: the terminal selects text")
}

// click focuses the panel under the pointer; a second click on it maximises it. On the line over the whole run it goes to that moment.
func (b *board) click(x, y int) tea.Cmd {
	for _, box := range b.boxes {
		if !box.Rect.In(x, y) || len(layout.Focusable([]layout.Box{box})) == 0 && box.ID != layout.Scrub {
			continue
		}
		switch {
		case box.ID == layout.Scrub:
			area := b.overviewArea(box.Rect)
			b.scrubTo(x-area.X, area.W)
		case box.ID == b.focus:
			b.toggleMaximise()
		default:
			b.focus = box.ID
		}
		b.arrange()
		return nil
	}
	return nil
}

// scrubTo moves the cursor to the moment at a column of the line over the whole run.
func (b *board) scrubTo(x, w int) {
	f := b.overview
	if f == nil || f.ToNS <= f.FromNS || x < 0 || x >= w {
		return
	}
	b.unfreeze()
	b.time.put(chart.Scrub{FromNS: f.FromNS, ToNS: f.ToNS}.At(x, w), b.view())
}

// wheel zooms the time axis.
func (b *board) wheel(_, _ int, up bool) tea.Cmd {
	if b.shown.main == nil {
		return nil
	}
	id := keys.ZoomOut
	if up {
		id = keys.ZoomIn
	}
	b.zoom(id, b.view())
	b.arrange()
	return nil
}
