package tui

import (
	"slices"

	"opprof/tui/layout"
	"opprof/tui/theme"
)

// State is what a reader chose on the screen, to be found again the next time. An empty or unknown value is no choice.
type State struct {
	Theme   string `json:"theme"`
	Density string `json:"density"`
	Layout  string `json:"layout"` // a preset of panels
	Page    string `json:"page"`
	Focus   string `json:"focus"`
	SpanNS  int64  `json:"span_ns"` // of the time axis of a live run
	Mouse   string `json:"mouse"`   // on or off
}

// restore takes up what was chosen before.
func (m *Model) restore(s State) {
	if t, ok := theme.ByName(s.Theme); ok && m.opt.Theme.Theme != t.Name {
		m.theme, m.themed = t.WithGlyphs(m.theme.Glyphs), true
	}
	if i := slices.IndexFunc(m.pages, func(p page) bool { return p.name() == s.Page }); i >= 0 {
		m.visible = i
	}
	if s.Mouse != "" {
		m.mouse = s.Mouse != "off"
	}
	for _, p := range m.pages {
		if b, ok := p.(*board); ok {
			b.restore(s)
		}
	}
}

// state is what has been chosen by now.
func (m *Model) state() State {
	if m.above != nil {
		return m.above.state()
	}
	s := m.opt.State // a list of runs keeps what is chosen for a run
	s.Theme, s.Mouse = "", "off"
	if m.mouse {
		s.Mouse = "on"
	}
	if m.themed {
		s.Theme = m.theme.Name
	}
	for _, p := range m.pages {
		if b, ok := p.(*board); ok {
			s.Page = m.page().name()
			b.remember(&s)
		}
	}
	return s
}

func (b *board) restore(s State) {
	for d := range layout.Densities {
		if d.String() == s.Density {
			b.density = d
		}
	}
	for p := range layout.Presets {
		if p.String() == s.Layout {
			b.preset = p
		}
	}
	if id := layout.ID(s.Focus); slices.Contains(layout.Panels(2), id) {
		b.focus = id
	}
	if b.live && s.SpanNS > 0 {
		b.time.spanNS = s.SpanNS
	}
}

func (b *board) remember(s *State) {
	s.Density, s.Layout, s.Focus, s.SpanNS = b.density.String(), b.preset.String(), string(whole(b.focus)), 0
	if b.live {
		s.SpanNS = b.time.spanNS
	}
}
