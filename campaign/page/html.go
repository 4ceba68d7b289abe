package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed page.html
var source string

//go:embed style.css
var style string

// HTML writes the page as one file that holds its style and its plots and asks nothing of the network. It follows the reader's light or dark
// setting, and prints.
func (p *Page) HTML(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"clean": clean,
		"soft":  soft,
		"brief": func(s string) bool { return len(s) <= briefCell },
		"long":  func(s string) bool { return len(s) > longCell },
		"short": func(rows [][]string) bool { return len(rows) <= shortTable },
	}).Parse(source)
	if err != nil {
		return fmt.Errorf("cannot write report: %w", err)
	}
	type anchored struct {
		Section
		ID string
	}
	view := struct {
		*Page
		Style template.CSS
		Parts []anchored
	}{Page: p, Style: template.CSS(style)} // our own file
	for i, id := range p.anchors() {
		view.Parts = append(view.Parts, anchored{p.Sections[i], id})
	}
	if err := t.Execute(w, view); err != nil {
		return fmt.Errorf("cannot write report: %w", err)
	}
	return nil
}

const (
	briefCell  = 25 // bytes up to which a row's name stays in one line on paper too
	longCell   = 40 // bytes from which a cell's text may take several lines on the screen
	shortTable = 16 // rows up to which a table is printed on one sheet
)

// soft is text for a narrow cell: a word that is too long may be broken anywhere.
func soft(s string) template.HTML {
	const most = 18
	var b strings.Builder
	n := 0
	for _, r := range clean(s) {
		switch {
		case r == ' ' || r == '-':
			n = 0
		case n == most:
			b.WriteString("<wbr>")
			n = 1
		default:
			n++
		}
		b.WriteString(template.HTMLEscapeString(string(r)))
	}
	return template.HTML(b.String()) // every rune of s is escaped
}
