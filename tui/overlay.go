package tui

import (
	"slices"
	"strings"
	"unicode/utf8"

	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

// overlay is a scrolling text above the page.
type overlay struct {
	title  string
	lines  func(width int, filter string) []overlayLine // entries that hold the filter, wrapped to a width
	filter string
	top    int        // first visible line
	rows   int        // visible lines at the last drawing
	total  int        // lines at the last drawing
	at     chart.Rect // on the screen, at the last drawing
}

type overlayLine []chart.Span

// bodyTop is the first line below the header and the pages' names.
const bodyTop = 2

// overlayWidth is the widest text that still reads well.
const overlayWidth = 96

func (o *overlay) move(id keys.ID) {
	switch id {
	case keys.Down:
		o.top++
	case keys.Up:
		o.top--
	case keys.PageDown:
		o.top += max(1, o.rows-1)
	case keys.PageUp:
		o.top -= max(1, o.rows-1)
	case keys.Top:
		o.top = 0
	case keys.Bottom:
		o.top = o.total
	}
	o.top = max(0, min(o.top, o.total-o.rows))
}

// matches counts the entries that hold the filter.
func (o *overlay) matches(width int) int {
	n := 0
	for _, l := range o.lines(width, o.filter) {
		if l.entry() {
			n++
		}
	}
	return n
}

// entry reports whether the line begins an entry: a key, or the name of a figure.
func (l overlayLine) entry() bool {
	return len(l) > 0 && strings.TrimSpace(l[0].S) != "" && (l[0].Role == theme.RoleKey || l[0].Role == theme.RoleTitle && len(l) > 1)
}

// draw puts the overlay into the middle of g.
func (o *overlay) draw(g *chart.Grid) {
	w := min(g.W()-4, overlayWidth)
	lines := o.lines(w-4, o.filter)
	h := min(g.H()-2, len(lines)+2)
	if w < 10 || h < 3 {
		return
	}
	o.total, o.rows = len(lines), h-2
	o.top = max(0, min(o.top, o.total-o.rows))
	at := chart.Rect{X: (g.W() - w) / 2, Y: (g.H() - h) / 2, W: w, H: h}
	box := g.Sub(at)
	o.at = chart.Rect{X: at.X, Y: at.Y + bodyTop, W: w, H: h}
	box.Clear()
	right := "esc closes"
	if o.total > o.rows {
		right = "↑↓ scrolls  esc closes"
		if g.Glyphs.ASCII {
			right = "j k scrolls  esc closes"
		}
	}
	inside := box.Box(o.title, right, true)
	for y, line := range lines[o.top : o.top+o.rows] {
		inside.Spans(1, y, inside.W()-2, line...)
	}
}

// helpOverlay lists every key by group.
func helpOverlay(set *keys.Set) *overlay {
	return &overlay{title: "all keys", lines: func(width int, filter string) []overlayLine {
		var lines []overlayLine
		for i, section := range set.Help(filter) {
			if i > 0 {
				lines = append(lines, nil)
			}
			lines = append(lines, overlayLine{{S: string(section.Group), Role: theme.RoleTitle, Attr: theme.Bold}})
			for _, b := range section.Bindings {
				lines = append(lines, hung(pad(b.Label(), 10), theme.RoleKey, b.Long, theme.RoleText, width)...)
			}
		}
		return lines
	}}
}

// explainOverlay lists definitions.
func explainOverlay(title string, definitions []panel.Definition) *overlay {
	return &overlay{title: title, lines: func(width int, filter string) []overlayLine {
		var lines []overlayLine
		for _, d := range definitions {
			if !d.Holds(filter) {
				continue
			}
			if len(lines) > 0 {
				lines = append(lines, nil)
			}
			lines = append(lines, overlayLine{
				{S: d.Name, Role: theme.RoleTitle, Attr: theme.Bold}, {S: "  " + d.Unit, Role: theme.RoleAccent},
			})
			lines = append(lines, hung("", theme.RoleText, d.Text, theme.RoleText, width)...)
			if d.Source != "" {
				lines = append(lines, hung("from ", theme.RoleDim, d.Source, theme.RoleDim, width)...)
			}
		}
		if len(lines) == 0 {
			lines = []overlayLine{{{S: "nothing to explain here", Role: theme.RoleDim}}}
		}
		return lines
	}}
}

// hung wraps text to a width behind a head; further lines start below the text.
func hung(head string, headRole theme.Role, text string, role theme.Role, width int) []overlayLine {
	indent := utf8.RuneCountInString(head)
	var lines []overlayLine
	for i, l := range wrap(text, width-indent) {
		first := chart.Span{S: strings.Repeat(" ", indent), Role: headRole}
		if i == 0 {
			first.S = head
		}
		lines = append(lines, overlayLine{first, {S: l, Role: role}})
	}
	return lines
}

func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(1, n-utf8.RuneCountInString(s)))
}

// clipped are the first lines of a text for w columns; the last one ends with a mark where more would follow.
func clipped(lines []string, most, w int, ellipsis rune) []string {
	if len(lines) <= most {
		return lines
	}
	out := slices.Clone(lines[:most])
	last := []rune(out[most-1])
	out[most-1] = string(last[:min(len(last), max(0, w-1))]) + string(ellipsis)
	return out
}

// wrap breaks text at spaces into lines of at most w columns; a longer word stands alone and is cut when drawn.
func wrap(text string, w int) []string {
	var lines []string
	current := ""
	for _, word := range strings.Fields(chart.Sanitize(text)) {
		switch {
		case current == "":
			current = word
		case utf8.RuneCountInString(current)+1+utf8.RuneCountInString(word) <= w:
			current += " " + word
		default:
			lines = append(lines, current)
			current = word
		}
	}
	return append(lines, current)
}
