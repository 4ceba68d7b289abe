package panel

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// Status is what the two lines at the top say.
type Status struct {
	Run      rundir.Description
	Newest   *store.Frame // state and rates come from here; nil before the first picture
	Past     bool         // the page shows another moment than the newest step, which state and rates are of
	Frozen   bool
	BehindNS int64       // between the frozen picture and the newest step
	AgeNS    int64       // how old the picture is, when the source owes an answer; else 0
	Problem  string      // why there is no new picture; "" when there is
	Warnings int         // in all
	Active   int         // of them, those that hold now
	Server   *Supervised // its state is the supervisor's word; nil without one
}

// piece is a part of a status line. Pieces of the lowest weight go first when the line is too narrow.
type piece struct {
	spans  []chart.Span
	weight int
	right  bool
	tab    int // place of the page that it names, from 1; 0 names none
	x      int // column of its first cell, once placed
}

func (p piece) width() int {
	n := 0
	for _, s := range p.spans {
		n += utf8.RuneCountInString(chart.Sanitize(s.S))
	}
	return n
}

// Header draws the first line: what is watched on the left, how it does on the right.
func Header(g *chart.Grid, s Status) {
	pieces := headerPieces(g, s, true)
	if len(place(pieces, g.W())) < len(pieces) {
		pieces = headerPieces(g, s, false)
	}
	drawPieces(g, pieces)
}

func headerPieces(g *chart.Grid, s Status, long bool) []piece {
	pieces := append(identity(s.Run, g.W()), alarms(g, s)...)
	if s.Server != nil {
		pieces = append(pieces, serverPieces(g, s.Server)...)
	}
	if s.Newest != nil {
		pieces = append(pieces, health(g, s, long)...)
	}
	return pieces
}

func identity(run rundir.Description, width int) []piece {
	pieces := []piece{{weight: 50, spans: []chart.Span{{S: "opprof", Role: theme.RoleAccent, Attr: theme.Bold}}}}
	add := func(weight int, s string) {
		if s != "" {
			pieces = append(pieces, piece{weight: weight, spans: []chart.Span{{S: s, Role: theme.RoleText}}})
		}
	}
	add(76, shorten(run.ID, max(16, width/5)))
	add(20, shorten(run.Model, max(16, width/5)))
	add(40, run.Parallel())
	if run.VLLMVersion != "" {
		patch := ""
		if run.PatchHash != "" {
			patch = " patch " + run.PatchHash[:min(8, len(run.PatchHash))]
		}
		add(10, "vLLM "+run.VLLMVersion+patch)
	}
	return pieces
}

// shorten keeps the end of a long name, which tells runs and models apart.
func shorten(s string, n int) string {
	r := []rune(chart.Sanitize(s))
	if len(r) <= n {
		return s
	}
	return ".." + string(r[len(r)-n+2:])
}

// alarms are what must not be overlooked.
func alarms(g *chart.Grid, s Status) []piece {
	var pieces []piece
	loud := func(weight int, text string, role theme.Role) {
		pieces = append(pieces, piece{weight: weight, right: true, spans: []chart.Span{{S: " " + text + " ", Role: role, Attr: theme.Bold | theme.Reverse}}})
	}
	if s.Frozen {
		loud(100, "FROZEN "+unit.Duration(s.BehindNS)+" behind", theme.RoleWarn)
	}
	if s.Problem != "" {
		loud(94, chart.Cut(chart.Sanitize(s.Problem), max(20, g.W()/2), g.Glyphs.Ellipsis), theme.RoleBad)
	}
	if s.AgeNS > 0 {
		loud(95, "picture "+unit.Duration(s.AgeNS)+" old", theme.RoleWarn)
	}
	switch {
	case s.Active > 0:
		loud(93, string(g.Glyphs.Triangle)+" "+unit.Counted(s.Active, "warning"), theme.RoleWarn)
	case s.Warnings > 0:
		pieces = append(pieces, piece{weight: 45, right: true, spans: []chart.Span{{S: string(g.Glyphs.Triangle) + " " + strconv.Itoa(s.Warnings) + " past", Role: theme.RoleDim}}})
	}
	if text := trouble(s.Run); text != "" {
		loud(94, text, theme.RoleBad)
	}
	if share, behind := backlog(s.Run); behind {
		loud(85, "catching up "+unit.Percent(share), theme.RoleWarn)
	}
	return pieces
}

// trouble says in a few words that files of the run cannot be read any more; the sentences are among the problems.
func trouble(run rundir.Description) string {
	gone, failed := 0, 0
	full := strings.Contains(run.Unlisted, syscall.EMFILE.Error())
	for _, s := range run.Streams {
		switch {
		case s.Error != "":
			failed++
			full = full || strings.Contains(s.Error, syscall.EMFILE.Error())
		case s.Gone:
			gone++
		}
	}
	some := func(n int, what string) string {
		if n == len(run.Streams) {
			return unit.Counted(n, "stream") + " " + what
		}
		return strconv.Itoa(n) + " of " + strconv.Itoa(len(run.Streams)) + " streams " + what
	}
	switch {
	case full:
		return "too many open files"
	case failed > 0:
		return some(failed, "unreadable")
	case run.Unlisted != "":
		return "folder unreadable"
	case gone > 0:
		return some(gone, "deleted")
	}
	return ""
}

// backlog reports how much of the files is read when a screenful or more is still to come.
func backlog(run rundir.Description) (share float64, behind bool) {
	const screenful = 4 << 20
	var size, read int64
	for _, s := range run.Streams {
		size += s.Bytes
		read += min(s.ReadBytes, s.Bytes)
	}
	if size-read < screenful {
		return 1, false
	}
	return float64(read) / float64(size), true
}

// StateMark is the mark of a state and its role; the word stands beside it.
func StateMark(gl theme.Glyphs, s store.State) (rune, theme.Role) {
	switch s.Name {
	case "busy":
		return gl.Dot, theme.RoleGood
	case "idle":
		return gl.Ring, theme.RoleDim
	case "stalled":
		return gl.Triangle, theme.RoleBad
	case "finished":
		return gl.Check, theme.RoleDim
	}
	return '?', theme.RoleWarn
}

// health is the state of the engines with rates and losses. Names are written out where long.
func health(g *chart.Grid, s Status, long bool) []piece {
	switch {
	case s.Newest.Run.Counts.Steps > 0:
	case s.Server != nil:
		return nil
	case Recordless(&s.Run):
		return []piece{{weight: 99, right: true, spans: []chart.Span{{S: string(g.Glyphs.Ring) + " no records", Role: theme.RoleDim, Attr: theme.Bold}}}}
	}
	return append(stepState(g, s), figures(s.Newest, long)...)
}

// stepState is the state as the steps tell it. A supervisor knows more.
func stepState(g *chart.Grid, s Status) []piece {
	if s.Server != nil {
		return nil
	}
	f := s.Newest
	mark, role := StateMark(g.Glyphs, f.State)
	state := string(mark) + " " + f.State.Name
	attr := theme.Bold
	if f.State.StalledNS > 0 {
		state = string(mark) + " stalled for " + unit.Duration(f.State.StalledNS)
		attr |= theme.Reverse
	}
	spans := []chart.Span{{S: state, Role: role, Attr: attr}}
	if s.Run.AsOfNS != 0 {
		spans = append(spans, chart.Span{S: ", still running", Role: theme.RoleDim})
	}
	if s.Past {
		spans = append([]chart.Span{{S: "newest step: ", Role: theme.RoleDim}}, spans...)
	}
	return []piece{{weight: 99, right: true, spans: spans}}
}

// figures are rates and losses.
func figures(f *store.Frame, long bool) []piece {
	var pieces []piece
	figure := func(weight int, name, value, suffix string, role theme.Role) {
		var spans []chart.Span
		if name != "" {
			spans = append(spans, chart.Span{S: name + " ", Role: theme.RoleDim})
		}
		spans = append(spans, chart.Span{S: value, Role: role})
		if suffix != "" {
			spans = append(spans, chart.Span{S: " " + suffix, Role: theme.RoleDim})
		}
		pieces = append(pieces, piece{weight: weight, right: true, spans: spans})
	}
	figure(80, "", padLeft(rate(f.Rates, f.Rates.StepsPerS), 5), "step/s", theme.RoleText)
	prefill, decode := "pre", "dec"
	if long {
		prefill, decode = "prefill", "decode"
	}
	figure(70, prefill, padLeft(rate(f.Rates, f.Rates.PrefillTokPerS), 5), "", theme.RolePrefill)
	figure(72, decode, padLeft(rate(f.Rates, newDecode(&f.Rates)), 5), "tok/s", theme.RoleDecode)
	if f.Rates.RecomputeTokPerS > 0 {
		figure(71, "recomp", rate(f.Rates, f.Rates.RecomputeTokPerS), "", theme.RolePreempt)
	}
	return append(pieces, losses(f.Loss)...)
}

// newDecode is the rate of decode tokens that were not computed before, where the recorder tells them apart; else of all.
func newDecode(r *store.Rates) float64 {
	if r.RecomputeKnown {
		return r.NewDecodeTokPerS
	}
	return r.DecodeTokPerS
}

func padLeft(s string, n int) string {
	for len(s) < n {
		s = " " + s
	}
	return s
}

// losses are what could not be shown. Only dropped records are worth saying that there are none.
func losses(l store.Loss) []piece {
	var pieces []piece
	for _, c := range []struct {
		name   string
		n      int64
		weight int
	}{{"dropped", l.Dropped, 92}, {"bad lines", l.BadLines, 91}, {"gaps", l.Gaps, 30}, {"restarts", l.Backward, 31}} {
		role := theme.RoleWarn
		switch {
		case c.n == 0 && c.name == "dropped":
			role, c.weight = theme.RoleDim, 25
		case c.n == 0:
			continue
		}
		pieces = append(pieces, piece{weight: c.weight, right: true, spans: []chart.Span{{S: c.name + " " + unit.Short(c.n), Role: role}}})
	}
	return pieces
}

// drawPieces writes the pieces that fit.
func drawPieces(g *chart.Grid, pieces []piece) {
	for _, p := range place(pieces, g.W()) {
		g.Spans(p.x, 0, g.W()-p.x, p.spans...)
	}
}

// place returns the pieces that fit into w columns: left ones from the left, right ones to the right end, in their order.
func place(pieces []piece, w int) []piece {
	const gap = 2
	keep := slices.Clone(pieces)
	width := func() int {
		n := 2
		for _, p := range keep {
			n += p.width() + gap
		}
		return n - gap
	}
	for len(keep) > 0 && width() > w {
		least := slices.MinFunc(keep, func(a, b piece) int { return cmp.Compare(a.weight, b.weight) })
		i := slices.IndexFunc(keep, func(p piece) bool { return p.weight == least.weight })
		keep = slices.Delete(keep, i, i+1)
	}
	x, right := 1, w-1
	for _, p := range keep {
		if p.right {
			right -= p.width() + gap
		}
	}
	right += gap
	for i, p := range keep {
		at := &x
		if p.right {
			at = &right
		}
		keep[i].x = *at
		*at += p.width() + gap
	}
	return keep
}
