package compare

import (
	"io"

	"opprof/campaign/page"
)

// WriteHTML writes the comparison as one self-contained page that lists at most so many cells; 0 lists all.
func (c *Comparison) WriteHTML(w io.Writer, most int) error {
	p := page.Page{Title: "Comparison of " + c.A.Name + " and " + c.B.Name, Mark: c.Verdict.Word, Quote: c.Verdict.Text}
	for i, t := range c.Tables(most) {
		if i == 0 {
			p.Intro = t.Notes
			continue
		}
		p.Sections = append(p.Sections, page.Section{Title: t.Title, Blocks: []page.Block{page.List{Lines: t.Notes}, t.block()}})
	}
	return p.HTML(w)
}

// block is the table as a page shows it.
func (t *Table) block() page.Table {
	out := page.Table{Rows: t.Rows}
	for i, name := range t.Head {
		out.Columns = append(out.Columns, page.Column{Name: name, Number: i >= t.Left && name != ""})
	}
	return out
}
