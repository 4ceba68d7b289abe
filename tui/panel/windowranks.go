package panel

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"opprof/engine/control"
	"opprof/engine/unit"
	"opprof/traces/catalog"
	"opprof/traces/family"
	"opprof/traces/join"
	"opprof/traces/rank"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// RankName is a rank of a window, or which file stands for one whose rank is not known.
func RankName(d *join.Window, k int) string {
	if r := d.Ranks[k].Rank; r.Known() {
		return "rank " + strconv.FormatInt(r.Global, 10)
	}
	return "file " + strconv.Itoa(k+1)
}

// RankBars draws how busy each rank was in the active iterations, by family.
type RankBars struct {
	Window *catalog.Window
	Rank   int // selected; -1 is none
	Marked int // rank to compare with; -1 is none
	Focus  bool
	Legend bool // what the letters stand for, where nothing else on the page says it
}

// RankBarsHeight is how many lines a window needs, without a legend.
func RankBarsHeight(w *catalog.Window) int {
	if w == nil || w.Detail == nil || NoDevice(w.Detail) {
		return 2
	}
	return 3 + len(w.Detail.Ranks) + min(2, len(remarks(w.Detail)))
}

// Draw fills g.
func (p RankBars) Draw(g *chart.Grid) {
	if p.Window == nil {
		note(g, 0, "no window")
		return
	}
	p.facts(g, 0)
	d := p.Window.Detail
	if d == nil || NoDevice(d) {
		g.Text(0, 1, g.W(), noKernels(p.Window), whyRole(p.Window))
		return
	}
	figures := make([]catalog.Figures, len(d.Ranks))
	for k := range d.Ranks {
		figures[k] = catalog.RankFigures(d, k)
	}
	const facts, head = 1, 1
	balance := 1
	if d.Mode() == rank.ModeCPU {
		balance = 0
	}
	bars := max(0, min(head+len(d.Ranks), g.H()-facts-balance)) // where not all have room, they scroll
	p.bars(g.Sub(chart.Rect{Y: facts, W: g.W(), H: bars}), figures)
	y := facts + bars
	p.balance(g, y, figures)
	y += balance
	if p.Legend {
		familyLegend(g, 0, y)
		y++
	}
	for i, r := range remarks(d) {
		g.Text(0, y+i, g.W(), r, theme.RoleWarn)
	}
}

// notBegun are the states of windows of which there is nothing to say but what they wait for.
func notBegun(s catalog.State) bool {
	switch string(s) {
	case control.WindowArmed, control.WindowStarting, control.WindowCancelled:
		return true
	}
	return false
}

// noKernels says of a window that has no kernel times why, or what they wait for.
func noKernels(w *catalog.Window) string {
	const follow = "kernel times follow: its traces are being "
	switch {
	case w.Detail != nil:
		return "no kernel times: its traces hold no device work, as those of a server on CPUs"
	case notBegun(w.State):
		return cmp.Or(w.Reason, "it recorded nothing")
	case w.State == catalog.Recording:
		return cmp.Or(w.Reason, "kernel times follow: its traces are not written yet")
	case w.State == catalog.Flushing && w.Reason != "":
		return "kernel times follow: " + w.Reason
	case w.State == catalog.Flushing:
		return follow + "written"
	case slices.ContainsFunc(w.Files, func(f catalog.File) bool { return f.State == catalog.FilePending || f.State == catalog.FileWaiting }):
		return follow + "read"
	}
	return "no kernel times: " + cmp.Or(w.Reason, "its traces are not in the run's folder")
}

// whyRole is loud where something is amiss.
func whyRole(w *catalog.Window) theme.Role {
	switch w.State {
	case catalog.Failed, catalog.Incomplete, catalog.Unjoined:
		return theme.RoleWarn
	}
	return theme.RoleDim
}

// facts say what the window is, in a line.
func (p RankBars) facts(g *chart.Grid, y int) {
	w := p.Window
	mark, role := WindowMark(&g.Glyphs, w.State)
	fields := []field{{value: string(mark) + " " + string(w.State), role: role}}
	if notBegun(w.State) {
		line(g, y, fields...)
		return
	}
	if w.Expected > 0 {
		fields = append(fields, field{value: fmt.Sprintf("%d of %d", w.Ranks, w.Expected), unit: "ranks", role: ranksCell(w).Role})
	}
	if w.Reason != "" && w.Detail != nil {
		fields = append(fields, field{value: w.Reason, role: theme.RoleWarn})
	}
	fields = append(fields, field{name: "steps", value: stepRange(w)})
	fields = append(fields, field{name: "graphs", value: windowModes(w)})
	fields = append(fields, field{name: "export stall", value: StallCell(w).Text, role: StallCell(w).Role})
	if from, to, ok := perturbed(w); ok {
		fields = append(fields, field{name: "perturbed", value: unit.Count(from) + "-" + unit.Count(to)})
	}
	if w.Detail != nil && !NoDevice(w.Detail) {
		fields = append(fields, field{name: "kernels run by", value: string(w.Detail.Mode())})
	}
	line(g, y, fields...)
}

// perturbed are the steps that the profiler slowed down: the labelled ones and the next, or those between the markers.
func perturbed(w *catalog.Window) (from, to int64, ok bool) {
	switch {
	case w.Detail != nil && w.Detail.Join.Method != "":
		return w.FirstStep, w.LastStep + 1, true
	case w.Marker != nil && w.Marker.StopNS != 0 && !w.Marker.Empty():
		return w.Marker.AfterStep + 1, w.Marker.StopAfterStep, true
	}
	return 0, 0, false
}

// barColumns are the figures at the right of a rank's bar. What is unknown and suspect is said above, for all ranks together: where there are
// several, work without collectives tells more.
func barColumns(several bool) []SheetColumn {
	doubt := 9
	if several {
		doubt = 3
	}
	return []SheetColumn{
		{Head: "", Weight: 0}, {Head: "busy", Right: true}, {Head: "", Flex: true, Least: 30, Weight: 10}, {Head: "w/o coll", Right: true, Weight: 7},
		{Head: "coll wait", Right: true, Weight: 8}, {Head: "sum", Right: true, Weight: 6}, {Head: "idle", Right: true, Weight: 4},
		{Head: "launches", Right: true, Weight: 5}, {Head: "unknown", Right: true, Weight: doubt}, {Head: "suspect", Right: true, Weight: doubt},
	}
}

// bars draws a line for each rank: its busy time, the bar, and what else there is to know of it.
func (p RankBars) bars(g *chart.Grid, figures []catalog.Figures) {
	d := p.Window.Detail
	longest, largest := int64(0), busiest(figures)
	for k := range figures {
		longest = max(longest, figures[k].UnionNS+figures[k].OverlapNS())
	}
	s := Sheet{Columns: barColumns(len(figures) > 1), Cursor: -1, Sort: -1}
	if shown := SheetRows(g.H(), false); shown < len(figures) {
		s.Columns[0].Head = fmt.Sprintf("%d of %d", shown, len(figures))
	}
	if p.Rank >= 0 && len(figures) > 1 {
		s.Cursor, s.Focus = p.Rank, p.Focus
	}
	for k, b := range d.Ranks {
		f := &figures[k]
		name := RankName(d, k)
		if len(figures) > 1 && k == largest && b.Mode != rank.ModeCPU {
			name = string(g.Glyphs.Triangle) + " " + name
		} else {
			name = "  " + name
		}
		if k == p.Marked {
			name = "a " + strings.TrimSpace(name)
		}
		if b.Mode == rank.ModeCPU {
			s.Rows = append(s.Rows, withoutDevice(name, len(s.Columns)))
			continue
		}
		s.Rows = append(s.Rows, []Cell{
			{Text: name}, {Text: ms3(f.UnionNS), Attr: theme.Bold}, {}, {Text: ms3(f.NonCollectiveUnionNS)}, {Text: waitText(f.WaitNS, len(figures))},
			{Text: ms3(f.SumNS)}, {Text: ms3(b.IdleNS)}, {Text: unit.Count(f.Launches)},
			{Text: unit.Share(b.UnknownNS, b.Total.SumNS), Role: loud(b.UnknownNS)}, {Text: ms3(b.SuspectNS), Role: loud(b.SuspectNS)},
		})
	}
	s.Draw(g)
	left := 0
	if s.Cursor >= 0 {
		left = gutter
	}
	widths := s.widths(g.W() - left)
	x := left + widths[0] + s.gap(0, widths) + widths[1] + s.gap(1, widths)
	for k := s.Top; k < min(len(figures), s.Top+SheetRows(g.H(), false)); k++ {
		if d.Ranks[k].Mode == rank.ModeCPU {
			continue
		}
		stackOf(&figures[k], longest, widths[2]).Draw(g.Sub(chart.Rect{X: x, Y: k + 1 - s.Top, W: widths[2], H: 1}))
	}
}

// busiest is the rank with the largest union.
func busiest(figures []catalog.Figures) int {
	largest := 0
	for k := range figures {
		if figures[k].UnionNS > figures[largest].UnionNS {
			largest = k
		}
	}
	return largest
}

// withoutDevice is the line of a rank whose trace holds no device work: nothing is known of it.
func withoutDevice(name string, columns int) []Cell {
	cells := make([]Cell, columns)
	for i := range cells {
		cells[i] = Cell{Text: unit.Unknown, Role: theme.RoleDim}
	}
	cells[0] = Cell{Text: name}
	return cells
}

// waitText is the wait of one rank of several; a single rank waits for nobody.
func waitText(ns int64, ranks int) string {
	if ranks < 2 {
		return unit.Unknown
	}
	return ms3(ns)
}

// loud is the role of a figure that should be zero.
func loud(n int64) theme.Role {
	if n > 0 {
		return theme.RoleWarn
	}
	return theme.RoleText
}

// stackOf is the bar of a rank, w columns wide for total.
func stackOf(f *catalog.Figures, total int64, w int) chart.StackRow {
	s := chart.StackRow{Total: float64(total)}
	for i := range family.Count {
		look, ns := lookOf(i), f.Families[i].UnionNS
		label := string(look.letter)
		room := 0
		if total > 0 {
			room = int(ns * int64(w) / total)
		}
		for _, better := range []string{label + " " + ms3(ns), label + " " + look.short + " " + ms3(ns), label + " " + look.name + " " + ms3(ns)} {
			if utf8.RuneCountInString(better)+1 <= room {
				label = better
			}
		}
		s.Parts = append(s.Parts, chart.Part{Label: label, Value: float64(ns), Role: look.role})
	}
	return s
}

// balance says which rank is slowest, who waits, and what is missing.
func (p RankBars) balance(g *chart.Grid, y int, figures []catalog.Figures) {
	d := p.Window.Detail
	var fields []field
	if d.Mode() == rank.ModeCPU {
		return
	}
	if len(figures) > 1 {
		slowest, least := 0, figures[0].NonCollectiveUnionNS
		for k := range figures {
			if figures[k].NonCollectiveUnionNS > figures[slowest].NonCollectiveUnionNS {
				slowest = k
			}
			least = min(least, figures[k].NonCollectiveUnionNS)
		}
		more := figures[slowest].NonCollectiveUnionNS - least
		fields = append(fields, field{name: "slowest", value: RankName(d, slowest), unit: "+" + unit.Share(more, least) + " work", role: theme.RoleText})
		sum := int64(0)
		for k := range figures {
			sum += figures[k].SumNS
		}
		fields = append(fields, field{name: "all ranks", value: ms3(sum), unit: "ms"})
		if by := waitBy(d); by != "" {
			fields = append(fields, field{name: "waits by", value: by})
		}
	}
	fields = append(fields, field{name: "overlap of families", value: ms3(figures[busiest(figures)].OverlapNS()), unit: "ms"})
	if n := len(d.Missing); n > 0 {
		names := make([]string, n)
		for i, r := range d.Missing {
			names[i] = strconv.FormatInt(r, 10)
		}
		fields = append(fields, field{name: "missing", value: "rank " + strings.Join(names, ", "), role: theme.RoleWarn})
	}
	var loose, exposed int64
	for _, b := range d.Ranks {
		loose += b.Unattributed.SumNS
		exposed = max(exposed, b.ExposedNS.CopyNS)
	}
	fields = append(fields, field{name: "exposed copies", value: ms3(exposed), unit: "ms"}, field{name: "of no iteration", value: ms3(loose), unit: "ms"})
	line(g, y, fields...)
}

// waitBy is how waiting was told from work.
func waitBy(d *join.Window) string {
	for _, it := range catalog.Active(d) {
		if it.WaitBy != "" {
			return it.WaitBy
		}
	}
	return ""
}

// remarks are what a reader of the figures has to know, of all ranks, each once.
func remarks(d *join.Window) []string {
	var out []string
	seen := map[string]bool{}
	for k, b := range d.Ranks {
		for _, r := range b.Remarks() {
			if !seen[r] {
				seen[r] = true
				out = append(out, RankName(d, k)+": "+r)
			}
		}
	}
	return out
}
