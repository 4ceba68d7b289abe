package panel

import (
	"strings"

	"opprof/tui/layout"
)

// Document returns the definitions of every figure of every page as Markdown.
func Document() string {
	var b strings.Builder
	b.WriteString("# Definitions\n\nEvery figure on the screen: its unit, the field of the Layer-1 record or the rule that it comes from, and what it means. " +
		"`e` shows the same on\nthe screen for the panel that has the focus. What is not known is `-` or a gap. This file is generated from the program.\n")
	last := layout.ID("")
	for _, d := range Definitions() {
		if d.Panel != last {
			last = d.Panel
			b.WriteString("\n## " + heading(d.Panel) + "\n\n| figure | unit | from | meaning |\n|---|---|---|---|\n")
		}
		b.WriteString("| " + strings.Join([]string{inTable(d.Name), inTable(d.Unit), inTable(d.Source), inTable(d.Text)}, " | ") + " |\n")
	}
	return b.String()
}

// heading names what a group of definitions belongs to.
func heading(id layout.ID) string {
	switch id {
	case layout.Header:
		return "first line"
	case layout.Tabs:
		return "second line"
	case layout.Scrub:
		return "line over the whole run"
	}
	if p, ok := All()[id]; ok {
		return p.Title()
	}
	return string(id)
}

func inTable(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
