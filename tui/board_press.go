package tui

import (
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/store"
	"opprof/tui/keys"
	"opprof/tui/layout"
)

// press acts on a key of the page.
func (b *board) press(k keys.Binding) tea.Cmd {
	switch k.ID {
	case keys.Freeze:
		return b.toggleFreeze()
	case keys.Live:
		b.frozen = false
		b.time.follow()
	case keys.Engine:
		b.nextEngine()
	case keys.Density:
		b.density = (b.density + 1) % layout.Densities
		b.arrange()
		return notice(b.densityName())
	case keys.Preset:
		b.preset, b.maximised = (b.preset+1)%layout.Presets, false
		b.arrange()
		return notice("layout " + b.preset.String())
	case keys.Overview:
		b.whole = !b.whole
	case keys.Maximise:
		b.toggleMaximise()
	case keys.Detail:
		b.toggleDetail()
	case keys.Back:
		return b.back()
	case keys.FocusNext, keys.FocusPrev, keys.FocusLeft, keys.FocusRight, keys.FocusUp, keys.FocusDown:
		b.moveFocus(k.ID)
	default:
		if cmd, ok := b.searchKeys(k.ID); ok {
			return cmd
		}
		if cmd, ok := b.noteKeys(k.ID); ok {
			return cmd
		}
		if ev, forward, ok := eventOf(k.ID); ok {
			return b.find(ev, forward)
		}
		return b.travel(k.ID)
	}
	b.arrange()
	return nil
}

// back takes off one thing after the other: a search that runs, a panel that has the page, a search.
func (b *board) back() tea.Cmd {
	if b.whole {
		b.whole = false
		b.arrange()
		return nil
	}
	if f := b.hunt.found; b.maximised && (b.hunt.expr == "" || f != nil && f.done) {
		b.maximised, b.before = false, ""
		b.arrange()
		return nil
	}
	return b.clearSearch()
}

// travel moves along the time axis.
func (b *board) travel(id keys.ID) tea.Cmd {
	v := b.view()
	switch id {
	case keys.ZoomIn, keys.ZoomOut, keys.Zoom:
		b.zoom(id, v)
	case keys.StepPrev:
		return b.neighbour(-1)
	case keys.StepNext:
		return b.neighbour(+1)
	default:
		b.unfreeze()
		b.shift(id, v)
	}
	b.arrange()
	return nil
}

func (b *board) shift(id keys.ID, v view) {
	switch id {
	case keys.PanLeft:
		b.time.move(-1, v)
	case keys.PanRight:
		b.time.move(+1, v)
	case keys.PanPageLeft:
		b.time.pan(-0.5, v)
	case keys.PanPageRight:
		b.time.pan(+0.5, v)
	case keys.First:
		b.time.home(v)
	}
	if b.live && b.time.cursorNS >= v.lastNS && v.lastNS != 0 {
		b.time.follow()
	}
}

func (b *board) zoom(id keys.ID, v view) {
	b.unfreeze()
	switch {
	case id == keys.ZoomIn:
		b.time.zoomIn(v)
	case id == keys.Zoom && b.time.spanNS == 0:
		b.time.spanNS = int64(10 * time.Second)
	default:
		b.time.zoomOut(v)
	}
}

// toggleFreeze stops the picture where it is, or lets it go on.
func (b *board) toggleFreeze() tea.Cmd {
	switch {
	case b.frozen:
		b.frozen = false
	case !b.time.following():
		return notice("the picture already stands: end follows the newest step")
	default:
		b.frozen = true
	}
	return nil
}

// unfreeze keeps the place of a frozen picture and lets keys move it.
func (b *board) unfreeze() {
	if !b.frozen || b.shown.main == nil {
		return
	}
	b.frozen = false
	b.time.edgeNS = b.shown.main.ToNS
	b.time.cursorNS = b.shown.main.Now.TimeNS
}

// nextEngine selects all engines together, then each one alone.
func (b *board) nextEngine() {
	engines := b.shown.main.Engines
	next := ""
	for i := range engines {
		if b.engine == "" {
			next = engines[0].ID
			break
		}
		if engines[i].ID == b.engine && i+1 < len(engines) {
			next = engines[i+1].ID
			break
		}
	}
	b.engine = next
	b.frozen = false
}

func eventOf(id keys.ID) (ev store.Event, forward, ok bool) {
	switch id {
	case keys.NextPreemption, keys.PrevPreemption:
		return store.EventPreemption, id == keys.NextPreemption, true
	case keys.NextMiss, keys.PrevMiss:
		return store.EventGraphMiss, id == keys.NextMiss, true
	case keys.NextStall, keys.PrevStall:
		return store.EventStall, id == keys.NextStall, true
	case keys.NextWindow, keys.PrevWindow:
		return store.EventWindow, id == keys.NextWindow, true
	case keys.NextGap, keys.PrevGap:
		return store.EventGap, id == keys.NextGap, true
	}
	return 0, false, false
}

// cursorNS is the moment that the page speaks about.
func (b *board) cursorNS() int64 {
	if in := b.input(); in != nil {
		return in.Now.TimeNS
	}
	return 0
}

// seek goes to what a reader typed.
func (b *board) seek(text string) (tea.Cmd, error) {
	to, err := parseTarget(text, b.view(), b.cursorNS(), b.zone)
	if err != nil {
		return nil, err
	}
	if to.step != 0 {
		return b.toStep(to.step), nil
	}
	b.unfreeze()
	b.time.put(to.atNS, b.view())
	b.arrange()
	return nil, nil
}

func (b *board) toggleMaximise() {
	b.maximised, b.before, b.whole = !b.maximised, "", false
	if b.maximised {
		b.focus = whole(b.focus)
	}
}

// toggleDetail gives the whole page to every field of the step at the cursor, and goes back to what was there.
func (b *board) toggleDetail() {
	b.whole = false
	if b.maximised && b.focus == layout.Step && b.before != "" {
		b.maximised, b.focus, b.before = false, b.before, ""
		return
	}
	b.before, b.focus, b.maximised = b.focus, layout.Step, true
}

// densityName says how much is shown, and what that comes to where the terminal has no room for more.
func (b *board) densityName() string {
	p := layout.Page{Width: b.width, Height: b.height, Scrubber: b.scrubbing(), Engines: b.engines(), Preset: b.preset}
	at := func(d layout.Density) []layout.Box {
		p.Density = d
		return layout.Arrange(p)
	}
	shown := at(b.density)
	for d := layout.Compact; d < b.density; d++ {
		if slices.Equal(at(d), shown) {
			return fmt.Sprintf("density %s: %s is all that fits %dx%d", b.density, d, b.width, b.height)
		}
	}
	return "density " + b.density.String()
}

// whole is the panel that says all of what a panel standing for two says in short.
func whole(id layout.ID) layout.ID {
	switch id {
	case layout.Load:
		return layout.Batch
	case layout.Pressure:
		return layout.Preempt
	}
	return id
}
