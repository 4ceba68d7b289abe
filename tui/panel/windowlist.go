package panel

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/traces/catalog"
	"opprof/traces/family"
	"opprof/traces/join"
	"opprof/traces/rank"
	"opprof/tui/theme"
)

// WindowMark is the mark of a window's state and its role; the word stands beside it.
func WindowMark(gl *theme.Glyphs, s catalog.State) (rune, theme.Role) {
	switch s {
	case catalog.Verified:
		return gl.Check, theme.RoleGood
	case catalog.Armed:
		return gl.Ring, theme.RoleAccent
	case catalog.Recording:
		return gl.Dot, theme.RoleAccent
	case catalog.Flushing, catalog.Reading:
		return gl.Pause, theme.RoleAccent
	case catalog.Unjoined, catalog.Incomplete:
		return gl.Triangle, theme.RoleWarn
	case catalog.Failed:
		return gl.Cross, theme.RoleBad
	}
	return OrderMark(gl, string(s))
}

// WindowList is the table of a run's windows. marked is the key of the one to compare with.
func WindowList(gl *theme.Glyphs, windows []catalog.Window, marked string, zone *time.Location) *Sheet {
	s := &Sheet{Cursor: -1, Sort: -1, Empty: "no profiler window in this run", Columns: []SheetColumn{
		{Head: "#", Right: true}, {Head: "state"}, {Head: "steps", Right: true, Weight: 9}, {Head: "prefill", Right: true, Weight: 8}, {Head: "tokens", Right: true, Weight: 7}, {Head: "decode", Right: true, Weight: 8},
		{Head: "graphs", Weight: 5}, {Head: "ranks", Weight: 7}, {Head: "export stall", Right: true, Weight: 6}, {Head: "busy ms", Right: true, Weight: 4},
		{Head: "top families, or why not", Flex: true, Least: 20, Weight: 6}, {Head: "joined", Weight: 2}, {Head: "started", Weight: 2},
	}}
	if severalEngines(windows) {
		s.Columns = append(s.Columns, SheetColumn{Head: "engine", Weight: 10})
	}
	for i := range windows {
		s.Rows = append(s.Rows, windowCells(gl, &windows[i], marked, zone)[:len(s.Columns)])
	}
	return s
}

func severalEngines(windows []catalog.Window) bool {
	engine := ""
	for i := range windows {
		if m := windows[i].Marker; m != nil {
			if engine != "" && m.Engine != engine {
				return true
			}
			engine = m.Engine
		}
	}
	return false
}

func windowCells(gl *theme.Glyphs, w *catalog.Window, marked string, zone *time.Location) []Cell {
	mark, role := WindowMark(gl, w.State)
	number := w.Name()
	if w.Key == marked {
		number = "a " + number
	}
	text := func(s string) Cell { return Cell{Text: s} }
	dim := func(s string) Cell { return Cell{Text: s, Role: theme.RoleDim} }
	prefill, tokens, decode := composition(w)
	method := ""
	if w.Detail != nil {
		method = w.Detail.Join.Method
	}
	engine := ""
	if w.Marker != nil {
		engine, _, _ = strings.Cut(w.Marker.Engine, "-") // its data-parallel rank tells it from the others
	}
	why := dim(w.Reason)
	if w.State == catalog.Unjoined || w.State == catalog.Incomplete || w.State == catalog.Failed {
		why.Role = theme.RoleWarn
	}
	busy := dim(unit.Unknown)
	if w.Detail != nil {
		switch {
		case w.Reason != "":
		case NoDevice(w.Detail):
			why = dim("no device work")
		default:
			why = text(TopFamilies(w.Detail))
		}
		busy = text(ms3(criticalBusy(w.Detail)))
	}
	return []Cell{
		{Text: number, Role: theme.RoleWindow, Attr: theme.Bold}, {Text: string(mark) + " " + string(w.State), Role: role},
		text(stepRange(w)), prefill, tokens, decode, text(windowModes(w)), ranksCell(w), StallCell(w), busy, why,
		dim(cmp.Or(method, unit.Unknown)), dim(unit.ClockSeconds(w.TimeNS, zone)), dim(engine),
	}
}

// stepRange is the labelled steps, or those between the markers.
func stepRange(w *catalog.Window) string {
	switch {
	case w.FirstStep == 0:
		return unit.Unknown
	case w.LastStep == 0:
		return unit.Count(w.FirstStep) + "-"
	}
	return unit.Count(w.FirstStep) + "-" + unit.Count(w.LastStep)
}

func ranksCell(w *catalog.Window) Cell {
	c := Cell{Text: strconv.Itoa(w.Ranks), Role: theme.RoleText}
	if w.Expected > 0 {
		c.Text += " of " + strconv.Itoa(w.Expected)
	}
	if w.Ranks == 0 {
		c.Role = theme.RoleDim
	} else if w.Ranks < w.Expected {
		c.Role = theme.RoleWarn
	}
	return c
}

// StallCell is how long the export held serving up.
func StallCell(w *catalog.Window) Cell {
	if w.StallNS == nil {
		return Cell{Text: unit.Unknown, Role: theme.RoleDim}
	}
	c := Cell{Text: unit.Duration(*w.StallNS)}
	if *w.StallNS >= store.StallNS {
		c.Role = theme.RoleWarn
	}
	return c
}

// composition is what the labelled steps held, least to most.
func composition(w *catalog.Window) (prefill, tokens, decode Cell) {
	unknown := Cell{Text: unit.Unknown, Role: theme.RoleDim}
	c := w.Composition()
	if c.Labelled == 0 {
		return unknown, unknown, unknown
	}
	none := Cell{Text: "0", Role: theme.RoleDim}
	prefill, tokens, decode = none, none, Cell{Text: span(c.DecodeRequests), Role: theme.RoleDecode}
	if c.PrefillRequests.Max > 0 {
		prefill = Cell{Text: span(c.PrefillRequests), Role: theme.RolePrefill}
		tokens = Cell{Text: span(c.PrefillTokens), Role: theme.RolePrefill}
	}
	if c.DecodeRequests.Max == 0 {
		decode.Role = theme.RoleDim
	}
	return prefill, tokens, decode
}

func span(r join.Range) string {
	if r.Min == r.Max {
		return unit.Count(r.Min)
	}
	return unit.Count(r.Min) + "-" + unit.Count(r.Max)
}

// windowModes counts the steps by mode, in the order of a run's usual modes.
func windowModes(w *catalog.Window) string {
	modes := w.GraphModes()
	var parts []string
	for _, m := range []string{"FULL", "PIECEWISE", "NONE"} {
		if n := modes[m]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", shortMode(m), n))
		}
	}
	if len(parts) == 0 {
		return unit.Unknown
	}
	return strings.Join(parts, " ")
}

func shortMode(mode string) string {
	if mode == "PIECEWISE" {
		return "PIECE"
	}
	return mode
}

// NoDevice reports whether no rank's trace holds device work, as those of a server on CPUs.
func NoDevice(d *join.Window) bool {
	return !slices.ContainsFunc(d.Ranks, func(b *rank.Breakdown) bool { return b.Mode != rank.ModeCPU })
}

// criticalBusy is the critical path of all active iterations together; -1 without device work.
func criticalBusy(d *join.Window) int64 {
	if d.Mode() == rank.ModeCPU {
		return -1
	}
	var ns int64
	for _, it := range catalog.Active(d) {
		ns += max(0, it.CriticalNS)
	}
	return ns
}

// TopFamilies names the families that took most of the busy time, with their share of it.
func TopFamilies(d *join.Window) string {
	var all catalog.Figures
	for k := range d.Ranks {
		f := catalog.RankFigures(d, k)
		all.UnionNS += f.UnionNS
		for i := range f.Families {
			all.Families[i].UnionNS += f.Families[i].UnionNS
		}
	}
	order := make([]family.Family, 0, family.Count)
	for f := range family.Count {
		if all.Families[f].UnionNS > 0 {
			order = append(order, f)
		}
	}
	slices.SortStableFunc(order, func(a, b family.Family) int { return cmp.Compare(all.Families[b].UnionNS, all.Families[a].UnionNS) })
	var parts []string
	for _, f := range order[:min(3, len(order))] {
		parts = append(parts, lookOf(f).short+" "+unit.Share(all.Families[f].UnionNS, all.UnionNS))
	}
	return strings.Join(parts, "  ")
}
