package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// table lines cells up, two spaces apart: the first column and those of left to the left, the others, which are of numbers, to the right. A row
// without cells is a blank line.
type table struct {
	left []int // columns of text
	rows [][]string
}

func (t *table) row(cells ...string) {
	for i := range cells {
		cells[i] = printable(cells[i])
	}
	t.rows = append(t.rows, cells)
}

func (t *table) write(w io.Writer) error {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		b.WriteString(t.rowText(row, widths))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *table) rowText(row []string, widths []int) string {
	var b strings.Builder
	for i, cell := range row {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		switch {
		case i == 0:
			b.WriteString(cell + pad)
		case slices.Contains(t.left, i):
			b.WriteString("  " + cell + pad)
		default:
			b.WriteString("  " + pad + cell)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// line adds a row of running text.
func (t *table) line(format string, args ...any) { t.row(fmt.Sprintf(format, args...)) }
