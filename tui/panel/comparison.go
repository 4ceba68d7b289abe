package panel

import (
	"strings"

	"opprof/campaign/compare"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// VerdictRole is how a comparison's verdict is written.
func VerdictRole(word string) theme.Role {
	switch word {
	case compare.Slower:
		return theme.RoleBad
	case compare.Faster:
		return theme.RoleGood
	case compare.Same:
		return theme.RoleText
	}
	return theme.RoleWarn
}

// Comparison is a comparison as text in a width, which may be longer than the screen.
type Comparison struct {
	role   theme.Role
	tables []compare.Table
}

// NewComparison lays a comparison out. At most so many kinds of steps are listed.
func NewComparison(c *compare.Comparison, most int) *Comparison {
	return &Comparison{VerdictRole(c.Verdict.Word), c.Tables(most)}
}

// Height is how many lines there are in w columns.
func (c *Comparison) Height(w int) int {
	return c.Draw(chart.NewGrid(w, 0, theme.ASCIIGlyphs()), 0)
}

// Draw fills g from line top of the text on, and returns how many lines there are.
func (c *Comparison) Draw(g *chart.Grid, top int) int {
	y := -top
	for i := range c.tables {
		t := &c.tables[i]
		role := theme.RoleTitle
		if i == 0 {
			role = c.role
		}
		for _, l := range wrapText(t.Title, g.W()) {
			g.TextAttr(0, y, g.W(), l, role, theme.Bold)
			y++
		}
		for _, n := range t.Notes {
			for _, l := range wrapText(n, g.W()-2) {
				g.Text(2, y, g.W()-2, l, theme.RoleDim)
				y++
			}
		}
		y += drawRows(g, y, t) + 1
	}
	return y - 1 + top
}

// drawRows draws the rows of a table below its heads, and returns how many lines they take.
func drawRows(g *chart.Grid, y int, t *compare.Table) int {
	if len(t.Rows) == 0 {
		return 0
	}
	s := &Sheet{Cursor: -1, Sort: -1}
	for i, head := range t.Head {
		column := SheetColumn{Head: head, Right: i >= t.Left && head != ""}
		if t.Weights != nil {
			column.Weight = t.Weights[i]
			column.With = i > 0 && head == "B" && t.Weights[i] == t.Weights[i-1] // one side alone says nothing
		}
		s.Columns = append(s.Columns, column)
	}
	for _, row := range t.Rows {
		cells := make([]Cell, len(row))
		for i, text := range row {
			cells[i] = Cell{Text: text, Role: cellRole(text)}
		}
		s.Rows = append(s.Rows, cells)
	}
	h := len(s.Rows) + 1
	whole := chart.NewGrid(g.W(), h, g.Glyphs)
	s.Draw(whole)
	g.Paste(0, y, whole)
	return h
}

func cellRole(text string) theme.Role {
	switch {
	case text == "*":
		return theme.RoleAccent
	case text == "-", strings.Contains(text, "steps") && !strings.Contains(text, "of"):
		return theme.RoleDim
	}
	return theme.RoleText
}

// wrapText breaks text at spaces into lines of at most w columns.
func wrapText(text string, w int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(chart.Sanitize(text)) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) <= w:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
