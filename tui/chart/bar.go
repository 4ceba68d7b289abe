package chart

import (
	"cmp"
	"math"
	"unicode/utf8"

	"opprof/tui/theme"
)

// columns is the width of text on the screen.
func columns(s string) int { return utf8.RuneCountInString(Sanitize(s)) }

// ratio returns part of whole in [0,1], 0 when that makes no sense.
func ratio(part, whole int64) float64 {
	if part <= 0 || whole <= 0 {
		return 0
	}
	return min(1, float64(part)/float64(whole))
}

// bar fills the share of a line from the left in steps of an eighth of a cell. What is not zero shows at least the thinnest step.
func bar(g *Grid, r Rect, share float64, role theme.Role) {
	if math.IsNaN(share) || share <= 0 || r.Empty() {
		return
	}
	eighths := max(1, int(math.Round(min(1, share)*float64(r.W*8))))
	for x := range r.W {
		n := min(8, eighths-8*x)
		if n <= 0 {
			return
		}
		g.Set(r.X+x, r.Y, g.Glyphs.Across[n], role)
	}
}

// Meter is one line: a bar of a value out of a maximum, and a text on its right.
type Meter struct {
	Value Value
	Max   float64
	Text  string
	Role  theme.Role
	Warn  float64 // value from which the bar has the role of a warning; 0 never
}

// Draw fills the first line of g.
func (m Meter) Draw(g *Grid) {
	w := g.W()
	if m.Text != "" {
		w = max(0, w-columns(m.Text)-1)
		g.TextRight(w+1, 0, g.W()-w-1, m.Text, theme.RoleText)
	}
	g.Fill(Rect{W: w, H: 1}, g.Glyphs.Track, theme.RoleDim)
	if !m.Value.Known || m.Max <= 0 {
		return
	}
	role := m.Role
	if m.Warn > 0 && m.Value.V >= m.Warn {
		role = theme.RoleWarn
	}
	bar(g, Rect{W: w, H: 1}, m.Value.V/m.Max, role)
}

// Part is one segment of a StackRow.
type Part struct {
	Label string // its first rune tells the segment from its neighbours without colour
	Value float64
	Role  theme.Role
}

// StackRow is one line of segments whose lengths are shares of a total. Each begins with its label where that fits, with the label's first
// rune where it does not.
type StackRow struct {
	Parts []Part
	Total float64 // 0, or less than the parts have together, is their sum
}

// Draw fills the first line of g.
func (s StackRow) Draw(g *Grid) {
	if g.H() == 0 {
		return
	}
	x := 0
	for i, n := range s.widths(g.W()) {
		p := s.Parts[i]
		g.Fill(Rect{X: x, W: n, H: 1}, g.Glyphs.Across[8], p.Role)
		label := Sanitize(p.Label)
		if columns(label) > n {
			label = firstRune(label)
		}
		g.TextAttr(x, 0, n, label, p.Role, theme.Reverse|theme.Bold)
		x += n
	}
	g.Fill(Rect{X: x, W: g.W() - x, H: 1}, g.Glyphs.Track, theme.RoleDim)
}

func firstRune(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n]
}

// widths shares w cells out by largest remainders. A part that is not zero takes a cell from the widest rather than have none.
func (s StackRow) widths(w int) []int {
	out := make([]int, len(s.Parts))
	values := make([]float64, len(s.Parts))
	sum := 0.0
	for i, p := range s.Parts {
		if p.Value > 0 && !math.IsInf(p.Value, 0) {
			values[i] = p.Value
			sum += p.Value
		}
	}
	total := max(s.Total, sum)
	if sum <= 0 || w <= 0 || math.IsInf(total, 0) || math.IsNaN(total) {
		return out
	}
	left := int(math.Round(sum / total * float64(w)))
	rest := make([]float64, len(values))
	for i, v := range values {
		exact := v / total * float64(w)
		out[i] = int(exact)
		rest[i] = exact - float64(out[i])
		left -= out[i]
	}
	for ; left > 0; left-- {
		i := largest(rest)
		out[i]++
		rest[i] = -1
	}
	for i, v := range values {
		if widest := largest(out); v > 0 && out[i] == 0 && out[widest] > 1 {
			out[widest]--
			out[i]++
		}
	}
	return out
}

func largest[T cmp.Ordered](values []T) int {
	at := 0
	for i, v := range values {
		if v > values[at] {
			at = i
		}
	}
	return at
}

// Spark is a time series in a few lines, newest value in the last column, a known zero as the lowest step and unknown as nothing.
type Spark struct {
	Values []Value
	Max    float64 // value of a full column; 0 takes the largest that is shown
	Role   theme.Role
}

// Draw fills g. With more values than columns the newest are shown.
func (s Spark) Draw(g *Grid) {
	values := tail(s.Values, g.W())
	top := s.Max
	if t, ok := highest(values); top <= 0 && ok {
		top = t
	}
	for i, v := range values {
		column(g, g.W()-len(values)+i, v, top, s.Role)
	}
}

func tail(values []Value, n int) []Value { return values[max(0, len(values)-max(0, n)):] }

// column draws a value upwards in eighths of a cell. Known values show at least the lowest step.
func column(g *Grid, x int, v Value, top float64, role theme.Role) {
	if !v.Known || g.H() == 0 {
		return
	}
	share := 0.0
	if top > 0 {
		share = max(0, min(1, v.V/top))
	}
	eighths := max(1, int(math.Round(share*float64(g.H()*8))))
	for y := g.H() - 1; y >= 0 && eighths > 0; y-- {
		g.Set(x, y, g.Glyphs.Up[min(8, eighths)], role)
		eighths -= 8
	}
}
