package chart

import (
	"math"

	"opprof/tui/theme"
)

// Strip is a horizontal axis of values, for marks that stand at their place on it.
type Strip struct{ Low, High float64 }

// Column is where v stands among w columns. beyond is -1 or 1 for a value that lies outside the axis, which stands at that end, else 0. A
// value that is no number has no place: ok is false.
func (s Strip) Column(v float64, w int) (x, beyond int, ok bool) {
	if math.IsNaN(v) || w <= 0 || !(s.High > s.Low) {
		return 0, 0, false
	}
	switch {
	case v < s.Low:
		return 0, -1, true
	case v > s.High:
		return w - 1, 1, true
	}
	return int(math.Round((v - s.Low) / (s.High - s.Low) * float64(w-1))), 0, true
}

// labelRoom is how many columns a label of the axis takes, with the blanks around it.
const labelRoom = 8

// DrawAxis fills the first line of g: a line with labels at round values. Labels are left out where taken reports that something else stands.
func (s Strip) DrawAxis(g *Grid, format func(float64) string, taken func(x int) bool) {
	for x := range g.W() {
		if !taken(x) {
			g.Set(x, 0, g.Glyphs.Horizontal, theme.RoleAxis)
		}
	}
	if !(s.High > s.Low) || math.IsInf(s.High-s.Low, 0) {
		return
	}
	free := 0
	for _, v := range linearTicks(s.Low, s.High, max(1, g.W()/labelRoom)) {
		x, _, _ := s.Column(v, g.W())
		label := format(v)
		n := len(label)
		from := max(0, min(x-n/2, g.W()-n))
		if from < free || anyTaken(taken, from-1, from+n+1) {
			continue
		}
		g.Text(from, 0, n, label, theme.RoleAxis)
		free = from + n + 1
	}
}

func anyTaken(taken func(int) bool, from, to int) bool {
	for x := from; x < to; x++ {
		if taken(x) {
			return true
		}
	}
	return false
}
