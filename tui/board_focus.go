package tui

import (
	"slices"

	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/layout"
)

// resize tells the size of the screen.
func (b *board) resize(width, height int) {
	b.width, b.height = width, height
	b.canvas = nil
	b.arrange()
}

// arrange places the panels anew. What moved is drawn again by its rectangle.
func (b *board) arrange() {
	p := layout.Page{Width: b.width, Height: b.height, Scrubber: b.scrubbing(), Engines: b.engines(), Density: b.density, Preset: b.preset}
	if b.maximised {
		p.Maximised = b.focus
	}
	if b.whole {
		p.Scrubber, p.Maximised = false, layout.Scrub
	}
	boxes := layout.Arrange(p)
	if !slices.Equal(boxes, b.boxes) {
		b.canvas = nil
	}
	b.boxes = boxes
	panels := layout.Focusable(boxes)
	if len(panels) > 0 && !slices.ContainsFunc(panels, func(x layout.Box) bool { return x.ID == b.focus }) {
		b.focus = nearestFocus(panels, b.focus)
	}
}

// nearestFocus is the panel that says the same in short where the focused one has no room, else the first.
func nearestFocus(panels []layout.Box, focus layout.ID) layout.ID {
	for _, p := range panels {
		id := p.ID
		if (id == layout.Load && (focus == layout.Batch || focus == layout.Queues)) ||
			(id == layout.Pressure && (focus == layout.Prefix || focus == layout.Preempt)) {
			return id
		}
	}
	return panels[0].ID
}

func (b *board) engines() int {
	if b.shown.main == nil {
		return 0
	}
	return len(b.shown.main.Engines)
}

// moveFocus goes to the next panel in reading order, or to the nearest one in a direction. While one is maximised all panels take turns.
func (b *board) moveFocus(id keys.ID) {
	if b.maximised {
		b.focus = turn(layout.Panels(b.engines()), b.focus, id)
		return
	}
	panels := layout.Focusable(b.boxes)
	at := slices.IndexFunc(panels, func(p layout.Box) bool { return p.ID == b.focus })
	if at < 0 {
		return
	}
	switch id {
	case keys.FocusNext:
		b.focus = panels[(at+1)%len(panels)].ID
	case keys.FocusPrev:
		b.focus = panels[(at+len(panels)-1)%len(panels)].ID
	default:
		if next, ok := neighbour(panels, panels[at].Rect, id); ok {
			b.focus = next
		}
	}
}

// turn is the next or previous panel of a list.
func turn(ids []layout.ID, focus layout.ID, id keys.ID) layout.ID {
	at := slices.Index(ids, focus)
	switch id {
	case keys.FocusPrev, keys.FocusLeft, keys.FocusUp:
		at--
	default:
		at++
	}
	return ids[(at+len(ids))%len(ids)]
}

// neighbour finds the nearest panel in a direction: of those that lie beyond the border, the one with the least distance between
// middles, across counting more than along.
func neighbour(panels []layout.Box, from chart.Rect, id keys.ID) (layout.ID, bool) {
	best, least := layout.ID(""), -1
	fx, fy := 2*from.X+from.W, 2*from.Y+from.H
	for _, p := range panels {
		dx, dy := 2*p.Rect.X+p.Rect.W-fx, 2*p.Rect.Y+p.Rect.H-fy
		var along, across int
		switch id {
		case keys.FocusLeft:
			along, across = -dx, dy
		case keys.FocusRight:
			along, across = dx, dy
		case keys.FocusUp:
			along, across = -dy, dx
		default:
			along, across = dy, dx
		}
		if along <= 0 || !beyond(p.Rect, from, id) {
			continue
		}
		if d := along + 3*max(across, -across); least < 0 || d < least {
			best, least = p.ID, d
		}
	}
	return best, least >= 0
}

// beyond reports whether r starts behind the border of from. Panels of a stack share one line.
func beyond(r, from chart.Rect, id keys.ID) bool {
	switch id {
	case keys.FocusLeft:
		return r.X+r.W <= from.X
	case keys.FocusRight:
		return r.X >= from.X+from.W
	case keys.FocusUp:
		return r.Y+r.H <= from.Y+1
	}
	return r.Y >= from.Y+from.H-1
}
