package cmd

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"opprof/tui/chart"
)

// section is a titled table of a document: columns with a heading, the first and those marked left set to the left.
type section struct {
	title string
	head  []string
	left  map[int]bool
	rows  [][]string
	notes []string
}

func (s *section) row(cells ...string) { s.rows = append(s.rows, cells) }

func (s *section) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// document is a list of sections that prints as aligned text or as Markdown. Text from outside is cleaned when it is printed.
type document struct{ sections []section }

func (d *document) write(w io.Writer, markdown bool) error {
	var b strings.Builder
	for i := range d.sections {
		s := &d.sections[i]
		s.clean()
		switch {
		case markdown:
			s.markdown(&b)
		default:
			s.text(&b)
		}
		if i+1 < len(d.sections) {
			b.WriteByte('\n')
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("cannot print: %w", err)
	}
	return nil
}

func (s *section) clean() {
	s.title = chart.Sanitize(s.title)
	for _, row := range s.rows {
		for i := range row {
			row[i] = chart.Sanitize(row[i])
		}
	}
	for i := range s.notes {
		s.notes[i] = chart.Sanitize(s.notes[i])
	}
}

// text prints the title, the notes and the table, indented. Columns that are empty in every row are left out.
func (s *section) text(b *strings.Builder) {
	fmt.Fprintln(b, s.title)
	for _, n := range s.notes {
		fmt.Fprintf(b, "  %s\n", n)
	}
	if len(s.rows) == 0 {
		return
	}
	widths := make([]int, len(s.head))
	for _, row := range s.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i, cell := range s.head {
		if widths[i] > 0 {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range append([][]string{s.head}, s.rows...) {
		var line strings.Builder
		for i, cell := range row {
			if widths[i] == 0 {
				continue
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 || s.left[i] {
				cell += pad
			} else {
				cell = pad + cell
			}
			line.WriteString("  " + cell)
		}
		fmt.Fprintln(b, strings.TrimRight(line.String(), " "))
	}
}

func (s *section) markdown(b *strings.Builder) {
	escape := strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`)
	fmt.Fprintf(b, "## %s\n\n", escape.Replace(s.title))
	for _, n := range s.notes {
		fmt.Fprintf(b, "- %s\n", escape.Replace(n))
	}
	if len(s.rows) == 0 {
		return
	}
	if len(s.notes) > 0 {
		b.WriteByte('\n')
	}
	rule := make([]string, len(s.head))
	for i := range rule {
		rule[i] = "--:"
		if i == 0 || s.left[i] {
			rule[i] = ":--"
		}
	}
	fmt.Fprintf(b, "| %s |\n| %s |\n", strings.Join(s.head, " | "), strings.Join(rule, " | "))
	for _, row := range s.rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = escape.Replace(c)
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}
