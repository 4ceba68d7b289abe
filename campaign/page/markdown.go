package page

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes the page as Markdown.
func (p *Page) Markdown(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "# %s\n", marked(p.Title, p.Mark))
	if p.Quote != "" {
		fmt.Fprintf(b, "\n> %s\n", escape(p.Quote))
	}
	for _, t := range p.Intro {
		Text(t).markdown(b)
	}
	for _, s := range p.Sections {
		fmt.Fprintf(b, "\n## %s\n", marked(s.Title, s.Mark))
		for _, block := range s.Blocks {
			block.markdown(b)
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("cannot write report: %w", err)
	}
	return nil
}

func marked(title, mark string) string {
	if mark == "" {
		return escape(title)
	}
	return escape(title) + ": " + escape(mark)
}

func (t Text) markdown(b *strings.Builder) { fmt.Fprintf(b, "\n%s\n", escape(string(t))) }

func (l List) markdown(b *strings.Builder) {
	if len(l.Lines) == 0 {
		return
	}
	heading(b, l.Title)
	b.WriteByte('\n')
	for _, line := range l.Lines {
		fmt.Fprintf(b, "- %s\n", escape(line))
	}
}

func (t Table) markdown(b *strings.Builder) {
	if len(t.Rows) == 0 {
		return
	}
	heading(b, t.Title)
	head := make([]string, len(t.Columns))
	rule := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		head[i], rule[i] = c.Head(), "---"
		if c.Number {
			rule[i] = "--:"
		}
	}
	b.WriteByte('\n')
	row(b, head)
	fmt.Fprintf(b, "|%s|\n", strings.Join(rule, "|"))
	for _, r := range t.Rows {
		row(b, r)
	}
	if t.Note != "" {
		Text(t.Note).markdown(b)
	}
}

func row(b *strings.Builder, cells []string) {
	b.WriteByte('|')
	for _, c := range cells {
		fmt.Fprintf(b, " %s |", escape(c))
	}
	b.WriteByte('\n')
}

func (Plots) markdown(*strings.Builder) {}

// markdown folds as far as the reader's program knows how to.
func (f Fold) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n<details><summary>%s</summary>\n", escape(f.Title))
	for _, block := range f.Blocks {
		block.markdown(b)
	}
	b.WriteString("\n</details>\n")
}

func heading(b *strings.Builder, title string) {
	if title != "" {
		fmt.Fprintf(b, "\n### %s\n", escape(title))
	}
}

// escape keeps text from outside from being Markdown, HTML or control characters of a terminal. What only means something at the beginning of a
// line needs nothing: lines begin with words of our own.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "~", `\~`, "$", `\$`).Replace(clean(s))
}
