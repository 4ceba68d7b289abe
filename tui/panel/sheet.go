package panel

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"opprof/tui/chart"
	"opprof/tui/theme"
)

// SheetColumn is a column of a Sheet.
type SheetColumn struct {
	Head   string
	Right  bool // figures, aligned at their end
	Weight int  // columns of the lowest weight go first when a table is too wide; 0 never goes
	With   bool // it goes with the column before it
	Flex   bool // takes what is left
	Least  int  // its least width then
	Letter rune // of a family; 0 is none
	Role   theme.Role
}

// Cell is one value of a Sheet.
type Cell struct {
	Text string
	Role theme.Role
	Attr theme.Attr
}

// Sheet is a table with a cursor that is longer than the screen, perhaps: a line of heads, rows, and a line of totals that stays.
type Sheet struct {
	Columns []SheetColumn
	Rows    [][]Cell
	Total   []Cell // nil is none
	Cursor  int    // row under the cursor; -1 is none
	Top     int    // first row shown; Draw moves it so that the cursor is seen
	Sort    int    // column that rows are sorted by; -1 is none
	Focus   bool   // the cursor is this table's
	Empty   string // what is said without rows
}

// gutter is the width of the cursor's mark before the first column.
const gutter = 2

// SheetRows is how many rows are shown in h lines.
func SheetRows(h int, total bool) int {
	if total {
		h--
	}
	return max(0, h-1)
}

// Place says in a border what h lines show of the table: the row of the cursor, or how many rows follow; "" where all of them are seen.
func (s *Sheet) Place(h int) string {
	switch {
	case len(s.Rows) <= SheetRows(h, s.Total != nil):
		return ""
	case s.Cursor >= 0:
		return strconv.Itoa(s.Cursor+1) + " of " + strconv.Itoa(len(s.Rows))
	}
	return Below(s.Below(h))
}

// Below is how many rows follow the last one that h lines show.
func (s *Sheet) Below(h int) int {
	visible := SheetRows(h, s.Total != nil)
	s.settle(visible)
	return max(0, len(s.Rows)-visible-s.Top)
}

// LeftOut is how many columns have no room in w columns of the screen.
func (s *Sheet) LeftOut(w int) int {
	if s.Cursor >= 0 {
		w -= gutter
	}
	n := 0
	for _, width := range s.widths(w) {
		if width == 0 {
			n++
		}
	}
	return n
}

// Draw fills g.
func (s *Sheet) Draw(g *chart.Grid) {
	if len(s.Rows) == 0 && s.Empty != "" {
		note(g, 0, s.Empty)
		return
	}
	visible := SheetRows(g.H(), s.Total != nil)
	s.settle(visible)
	rows := s.Rows[min(s.Top, len(s.Rows)):min(len(s.Rows), s.Top+visible)]
	whole := g
	if s.Cursor >= 0 {
		g = g.Sub(chart.Rect{X: gutter, W: g.W() - gutter, H: g.H()})
	}
	widths := s.widths(g.W())
	x := 0
	for i, w := range widths {
		if w == 0 {
			continue
		}
		s.column(g, x, w, i, rows)
		x += w + s.gap(i, widths)
	}
	if y := s.Cursor - s.Top; s.Cursor >= 0 && y >= 0 && y < visible {
		row := chart.Rect{Y: y + 1, W: whole.W(), H: 1}
		whole.Set(0, y+1, g.Glyphs.Play, theme.RoleAccent)
		if s.Focus {
			whole.Restyle(row, theme.RoleSelected, 0)
		}
	}
}

func (s *Sheet) settle(visible int) {
	s.Top = max(0, min(s.Top, len(s.Rows)-visible))
	if s.Cursor >= 0 {
		s.Top = min(s.Top, s.Cursor)
		s.Top = max(s.Top, s.Cursor-visible+1)
	}
}

// gap is the width between a column and the next one that is shown: figures, which have room on their left, stand closer.
func (s *Sheet) gap(i int, widths []int) int {
	for next := i + 1; next < len(widths); next++ {
		if widths[next] > 0 {
			if s.Columns[i].Right && s.Columns[next].Right {
				return 1
			}
			return 2
		}
	}
	return 0
}

// widths shares g's columns out; 0 is a column that is left out.
func (s *Sheet) widths(room int) []int {
	out := make([]int, len(s.Columns))
	flex := -1
	for i, c := range s.Columns {
		out[i] = s.content(i)
		if c.Flex {
			flex, out[i] = i, max(c.Least, 8)
		}
	}
	for s.total(out) > room {
		worst := -1
		for i, c := range s.Columns {
			if out[i] > 0 && c.Weight > 0 && (worst < 0 || c.Weight < s.Columns[worst].Weight) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		out[worst] = 0
		for i := worst + 1; i < len(out) && s.Columns[i].With; i++ {
			out[i] = 0
		}
	}
	if flex >= 0 && out[flex] > 0 {
		out[flex] = max(0, out[flex]+room-s.total(out))
	}
	return out
}

// leaveOut takes a column away.
func (s *Sheet) leaveOut(i int) {
	s.Columns = slices.Delete(s.Columns, i, i+1)
	for y := range s.Rows {
		s.Rows[y] = slices.Delete(s.Rows[y], i, i+1)
	}
}

// content is the width that a column needs for its head and all of its cells.
func (s *Sheet) content(i int) int {
	n := utf8.RuneCountInString(s.Columns[i].Head)
	for _, r := range s.Rows {
		n = max(n, utf8.RuneCountInString(r[i].Text))
	}
	if s.Total != nil {
		n = max(n, utf8.RuneCountInString(s.Total[i].Text))
	}
	if s.Columns[i].Right && i > 0 {
		n++ // room for one more digit, so that columns stand still
	}
	return n
}

func (s *Sheet) total(widths []int) int {
	n := 0
	for i, w := range widths {
		if w > 0 {
			n += w + s.gap(i, widths)
		}
	}
	return n
}

func (s *Sheet) column(g *chart.Grid, x, w, i int, rows [][]Cell) {
	c := s.Columns[i]
	put := func(y int, cell Cell) {
		at := x
		if n := utf8.RuneCountInString(chart.Sanitize(cell.Text)); c.Right && n < w {
			at = x + w - n
		}
		g.TextAttr(at, y, x+w-at, cell.Text, cell.Role, cell.Attr)
	}
	head := Cell{Text: c.Head, Role: theme.RoleDim}
	if c.Letter != 0 {
		head.Role = c.Role
	}
	if i == s.Sort {
		head.Role, head.Attr = theme.RoleAccent, theme.Bold
	}
	put(0, head)
	for y, r := range rows {
		put(y+1, r[i])
	}
	if s.Total != nil {
		put(g.H()-1, s.Total[i])
	}
}
