package tui

import (
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/search"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

// hunt is the search of a board; the zero value searches nothing.
type hunt struct {
	expr  string
	last  string // the expression before it was cleared, which the form proposes
	found *found // nil before the first answer
}

// wantSearch asks how the search stands.
func (b *board) wantSearch() *searchWant {
	if b.hunt.expr == "" {
		return nil
	}
	w := &searchWant{expr: b.hunt.expr, engine: b.engine, cursorNS: b.cursorNS()}
	if o := b.overview; o != nil && o.BucketNS > 0 {
		w.fromNS, w.bucketNS, w.columns = o.FromNS, o.BucketNS, len(o.Columns)
	}
	return w
}

// foundAll reports whether nothing more can come of the search.
func (b *board) foundAll(w *searchWant) bool {
	f := b.hunt.found
	return w == nil || f != nil && f.done && f.want == *w
}

// takeFound shows what a search has found.
func (b *board) takeFound(f *found) {
	if f == nil || f.want.expr != b.hunt.expr {
		return
	}
	if old := b.hunt.found; old == nil || !slices.Equal(old.marks, f.marks) {
		b.serial++
	}
	b.hunt.found = f
}

// searchFor begins a search. The next pull asks for it.
func (b *board) searchFor(expr string) tea.Cmd {
	b.hunt.expr, b.hunt.last, b.hunt.found = expr, expr, nil
	b.serial++
	b.unfreeze()
	b.arrange()
	return notice("f goes to the next match, F to the one before")
}

// clearSearch ends the search, also where it still runs.
func (b *board) clearSearch() tea.Cmd {
	source, ok := b.source.(SearchSource)
	if !ok || b.hunt.expr == "" {
		return nil
	}
	said := "search cleared"
	if f := b.hunt.found; f == nil || !f.done {
		said = "search called off"
		if f != nil {
			said += " after " + unit.Count(f.counts.Matches) + " matches"
		}
	}
	b.hunt = hunt{last: b.hunt.last}
	b.serial++
	b.arrange()
	ctx := b.ctx
	return func() tea.Msg {
		_, _ = source.Search(ctx, "", "") // there is nobody to tell
		return noticeMsg(said)
	}
}

// match goes to the next match or the one before; without a search it asks for one.
func (b *board) match(forward bool) tea.Cmd {
	source, ok := b.source.(SearchSource)
	switch {
	case !ok:
		return notice("search: this run cannot be searched")
	case b.hunt.expr == "":
		return b.raiseDialog(newSearchForm(b))
	}
	ctx, expr, engine, from, v := b.ctx, b.hunt.expr, b.engine, b.cursorNS(), b.view()
	return func() tea.Msg {
		s, err := source.Search(ctx, expr, engine)
		if s == nil {
			return foundMsg{text: "search: " + errorText(err, "it has ended")}
		}
		hit, ok, err := s.Next(ctx, from, forward)
		round := ""
		if err == nil && !ok {
			end := v.firstNS - 1
			round = "no later match: back to the first.  "
			if !forward {
				end, round = v.lastNS+1, "no earlier match: on to the last.  "
			}
			hit, ok, err = s.Next(ctx, end, forward)
		}
		counts, done := s.Counts()
		switch {
		case err != nil:
			return foundMsg{text: "search: " + err.Error()}
		case !ok && !done:
			return foundMsg{text: "no match until now, " + shareRead(counts) + " searched"}
		case !ok:
			return foundMsg{text: "no step matches"}
		}
		return foundMsg{atNS: hit.AtNS, ok: true, text: round + "match: step " + unit.Count(hit.Step)}
	}
}

func errorText(err error, otherwise string) string {
	if err == nil {
		return otherwise
	}
	return err.Error()
}

func shareRead(c search.Counts) string {
	if c.Size <= 0 {
		return "0 %"
	}
	return strconv.FormatInt(min(100, 100*c.Bytes/c.Size), 10) + " %"
}

// standing says how many steps match, and which of them the cursor stands at.
func (f *found) standing() string {
	text := unit.Count(f.counts.Matches) + " of " + unit.Count(f.counts.Steps) + " steps"
	switch {
	case !f.exact || f.counts.Matches == 0:
	case f.at:
		text += ", " + ordinal(f.rank)
	default:
		text += ", " + unit.Count(f.rank) + " before"
	}
	if f.counts.Unknown > 0 {
		text += ", " + unit.Count(f.counts.Unknown) + " unknown"
	}
	switch {
	case f.err != nil:
		text += "; not all could be searched"
	case !f.done:
		text += ", " + shareRead(f.counts) + " searched"
	}
	return text
}

func ordinal(n int64) string {
	end := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			end = "st"
		case 2:
			end = "nd"
		case 3:
			end = "rd"
		}
	}
	return unit.Count(n) + end
}

// searchLine writes how the search stands: the figures whole, and as much of the expression as has room.
func (b *board) searchLine(g *chart.Grid) {
	text := "searching"
	if b.hunt.found != nil {
		text = b.hunt.found.standing()
	}
	role := theme.RoleText
	if f := b.hunt.found; f != nil && f.err != nil {
		role = theme.RoleBad
	}
	tail := []chart.Span{{S: text, Role: role}, {S: "  f F next", Role: theme.RoleDim}, {S: "  esc clears", Role: theme.RoleDim}}
	for panel.SpansWidth(tail) > g.W() && len(tail) > 1 {
		tail = tail[:len(tail)-1]
	}
	expr := []rune(b.hunt.expr)
	if room := g.W() - panel.SpansWidth(tail) - 2; room >= 8 {
		if len(expr) > room {
			expr = append(expr[:room-1], g.Glyphs.Ellipsis)
		}
		tail = append([]chart.Span{{S: string(expr) + "  ", Role: theme.RoleKey}}, tail...)
	}
	g.Spans(max(0, (g.W()-panel.SpansWidth(tail))/2), 0, g.W(), tail...)
}

// searchKeys acts on the keys of searching.
func (b *board) searchKeys(id keys.ID) (cmd tea.Cmd, ok bool) {
	switch id {
	case keys.Search:
		if _, can := b.source.(SearchSource); !can {
			return notice("search: this run cannot be searched"), true
		}
		return b.raiseDialog(newSearchForm(b)), true
	case keys.NextFound, keys.PrevFound:
		return b.match(id == keys.NextFound), true
	}
	return nil, false
}
