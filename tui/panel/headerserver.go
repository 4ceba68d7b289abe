package panel

import (
	"strconv"

	"opprof/engine/control"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// serverPieces are the server's state and its open windows, by the word of its supervisor.
func serverPieces(g *chart.Grid, s *Supervised) []piece {
	var pieces []piece
	if s.Lost != "" && s.State != control.Dead {
		pieces = append(pieces, piece{weight: 98, right: true, spans: []chart.Span{{S: " no supervisor ", Role: theme.RoleBad, Attr: theme.Bold | theme.Reverse}}})
	}
	if text, role := windowPiece(g, s); text != "" {
		pieces = append(pieces, piece{weight: 88, right: true, spans: []chart.Span{{S: text, Role: role, Attr: theme.Bold}}})
	}
	mark, role := ServerMark(&g.Glyphs, s.State)
	attr := theme.Bold
	if s.Clean() {
		mark, role = g.Glyphs.Ring, theme.RoleDim
	}
	if role == theme.RoleBad {
		attr |= theme.Reverse
	}
	text := s.Text()
	switch {
	case s.Clean():
		text = s.Reason
	case s.State == control.Dead && s.Reason != "":
		text += ": " + s.Reason
	}
	text = string(mark) + " " + text
	return append(pieces, piece{weight: 99, right: true, spans: []chart.Span{{S: shortenEnd(text, max(24, g.W()/2)), Role: role, Attr: attr}}})
}

// windowPiece tells of the window that runs, else of the next that waits.
func windowPiece(g *chart.Grid, s *Supervised) (string, theme.Role) {
	armed := s.Armed()
	if w := s.Active(); w != nil {
		mark, role := OrderMark(&g.Glyphs, w.State)
		text := string(mark) + " window " + strconv.Itoa(w.N) + " " + w.State
		if len(armed) > 0 {
			text += " +" + strconv.Itoa(len(armed))
		}
		return text, role
	}
	if len(armed) == 0 {
		return "", theme.RoleText
	}
	next, counts := nextArmed(armed)
	text := string(g.Glyphs.Ring) + " window " + strconv.Itoa(next.N) + " armed"
	if counts && g.W() >= 120 {
		text += " " + s.countdownShort(next)
	}
	if len(armed) > 1 {
		text += " +" + strconv.Itoa(len(armed)-1)
	}
	return text, theme.RoleAccent
}

// nextArmed is the first window whose start can be counted down, else the first.
func nextArmed(armed []*control.Window) (next *control.Window, counts bool) {
	for _, w := range armed {
		if k := w.Trigger.Kind; k == control.TriggerStep || k == control.TriggerAfter || k == control.TriggerEvery && w.FromStep > 0 {
			return w, true
		}
	}
	return armed[0], false
}

// shortenEnd keeps the start of a text.
func shortenEnd(s string, n int) string {
	r := []rune(chart.Sanitize(s))
	if len(r) <= n {
		return s
	}
	return string(r[:n-2]) + ".."
}
