package page

import (
	"fmt"
	"html/template"
	"strings"
	"unicode"
)

// Page is a whole report.
type Page struct {
	Title    string
	Mark     string // the verdict in a word; "" for none
	Quote    string // the sentence on top; "" for none
	Intro    []string
	Sections []Section
}

// Section is a part of a page that can be linked to.
type Section struct {
	Title  string
	Mark   string
	Blocks []Block
}

// Block is a part of a section: Text, List, Table, Plots or Fold.
type Block interface {
	Kind() string // names the template that writes it
	markdown(w *strings.Builder)
}

// Text is a paragraph.
type Text string

// List is sentences of equal rank. An empty one is left out.
type List struct {
	Title string
	Lines []string
}

// Table has a row for each thing. The first cell of a row names it. One without rows is left out.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]string
	Note    string // below it
}

// Column is what the cells below it have in common.
type Column struct {
	Name   string
	Unit   string // "" for none
	Number bool   // stands at the right, in figures of one width
}

// Plots are plots side by side. They are left out of Markdown, which has the same figures in tables.
type Plots []Plot

// Plot is a plot with what it shows.
type Plot struct {
	Title   string
	Caption string
	SVG     template.HTML // from package figure
	Values  *Table        // the same as numbers, folded away; nil for none
}

// Fold is hidden until it is opened. It is open on paper.
type Fold struct {
	Title      string
	Blocks     []Block
	ScreenOnly bool // left out on paper, as what is too wide for it
}

// Kind implements Block.
func (Text) Kind() string  { return "text" }
func (List) Kind() string  { return "list" }
func (Table) Kind() string { return "table" }
func (Plots) Kind() string { return "plots" }
func (Fold) Kind() string  { return "fold" }

// Facts is a table of names and values.
func Facts(title string, facts ...[2]string) Table {
	t := Table{Title: title, Columns: []Column{{}, {}}}
	for _, f := range facts {
		t.Rows = append(t.Rows, f[:])
	}
	return t
}

// TextColumns are columns of text.
func TextColumns(names ...string) []Column {
	var out []Column
	for _, n := range names {
		out = append(out, Column{Name: n})
	}
	return out
}

// Head is a column's name with its unit.
func (c Column) Head() string {
	if c.Unit == "" {
		return c.Name
	}
	return c.Name + ", " + c.Unit
}

// Named reports whether some column has a name: a table of facts has none.
func (t Table) Named() bool {
	for _, c := range t.Columns {
		if c.Name != "" {
			return true
		}
	}
	return false
}

// anchors gives each section its id: letters and digits of its title, told apart by a number.
func (p *Page) anchors() []string {
	out := make([]string, len(p.Sections))
	used := map[string]bool{}
	for i, s := range p.Sections {
		id := slug(s.Title)
		for n := 2; used[id]; n++ {
			id = fmt.Sprintf("%s-%d", slug(s.Title), n)
		}
		used[id], out[i] = true, id
	}
	return out
}

func slug(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	if s := strings.TrimSuffix(b.String(), "-"); s != "" {
		return s
	}
	return "section"
}

// clean leaves out of a text what would act on a terminal or on the direction of the text around it.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}
