package tui

import (
	"fmt"
	"strings"
	"time"

	"opprof/engine/alert"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// AlertSource is a Source that judges what it reads. The rules of Source hold for it too.
type AlertSource interface {
	// Warnings are what is or was wrong, the active ones first. It does not block.
	Warnings() []alert.Warning
}

// warned counts the warnings, and those that hold at the newest step.
func warned(list []alert.Warning) (all, active int) {
	for _, w := range list {
		if w.Active {
			active++
		}
	}
	return len(list), active
}

// warningsOverlay lists the warnings of now, also those that come while it is open.
func (m *Model) warningsOverlay() *overlay {
	return &overlay{title: "warnings", lines: func(width int, filter string) []overlayLine {
		var lines []overlayLine
		for _, w := range m.warnings {
			entry := warningLines(w, m.opt.Zone, &m.theme.Glyphs, width)
			if !holds(entry, filter) {
				continue
			}
			if len(lines) > 0 {
				lines = append(lines, nil)
			}
			lines = append(lines, entry...)
		}
		if len(lines) == 0 {
			lines = []overlayLine{{{S: "nothing to warn of", Role: theme.RoleDim}}}
		}
		return lines
	}}
}

// warningLines are what, whether it still holds, how often and when.
func warningLines(w alert.Warning, zone *time.Location, gl *theme.Glyphs, width int) []overlayLine {
	mark, role, now := gl.Ring, theme.RoleDim, "over"
	if w.Active {
		mark, role, now = gl.Triangle, theme.RoleWarn, "now"
	}
	head := overlayLine{
		{S: string(mark) + " " + w.Rule.String(), Role: theme.RoleTitle, Attr: theme.Bold}, {S: "  " + now, Role: role, Attr: theme.Bold},
		{S: "  " + unit.Count(w.Count) + " " + w.Unit, Role: theme.RoleText},
	}
	if w.Engine != "" {
		head = append(head, chart.Span{S: "  " + w.Engine, Role: theme.RoleDim})
	}
	lines := append([]overlayLine{head}, hung("  ", theme.RoleText, w.Text(), theme.RoleText, width)...)
	return append(lines, overlayLine{{S: fmt.Sprintf("  first %s  last %s", moment(w.FirstNS, zone), moment(w.LastNS, zone)), Role: theme.RoleDim}})
}

func moment(ns int64, zone *time.Location) string {
	if ns == 0 {
		return unit.Unknown
	}
	return unit.Date(ns, zone)
}

// holds reports whether an entry contains a text, in any case of letters.
func holds(entry []overlayLine, filter string) bool {
	for _, l := range entry {
		for _, s := range l {
			if strings.Contains(strings.ToLower(s.S), strings.ToLower(strings.TrimSpace(filter))) {
				return true
			}
		}
	}
	return false
}
