package chart

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"opprof/tui/theme"
)

// figures draws values a chart may be given, sane or not.
func figures(t *rapid.T, n int) []Value {
	out := make([]Value, n)
	for i := range out {
		out[i] = rapid.OneOf(
			rapid.Just(Value{}),
			rapid.Map(rapid.Float64Range(-10, 1000), Of),
			rapid.Map(rapid.Float64(), Of),
			rapid.SampledFrom([]Value{{V: math.NaN(), Known: true}, {V: math.Inf(1), Known: true}, {V: math.Inf(-1), Known: true}, Of(math.MaxFloat64), Of(math.SmallestNonzeroFloat64), Of(0)}),
		).Draw(t, "value")
	}
	return out
}

func number(t *rapid.T, name string) float64 {
	return rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(-100, 1e6), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.MaxFloat64, 1e-300})).Draw(t, name)
}

// anyChart draws a chart of any kind with any contents.
func anyChart(t *rapid.T) drawer {
	n := rapid.IntRange(0, 40).Draw(t, "n")
	label := rapid.SampledFrom([]string{"", "p50", "1k", "a label that is long", "模型", "\x1b[31m"})
	labels := rapid.SliceOfN(label, n, n).Draw(t, "labels")
	ns := rapid.OneOf(rapid.Int64Range(-100, 100), rapid.Int64Range(1.7e18, 1.8e18))
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return Hist{Labels: labels, Counts: rapid.SliceOfN(rapid.Int64Range(-5, 1e15), 0, 40).Draw(t, "counts"), Max: rapid.Int64Range(-1, 100).Draw(t, "max")}
	case 1:
		return Meter{Value: figures(t, 1)[0], Max: number(t, "max"), Text: label.Draw(t, "text"), Warn: number(t, "warn")}
	case 2:
		parts := make([]Part, n)
		for i, v := range figures(t, n) {
			parts[i] = Part{Label: labels[i], Value: v.V}
		}
		return StackRow{Parts: parts, Total: number(t, "total")}
	case 3, 4:
		return Spark{Values: figures(t, n), Max: number(t, "max")}
	case 5, 6:
		s := Series{Style: Style(rapid.IntRange(0, 1).Draw(t, "style")), Log: rapid.Bool().Draw(t, "log"), Min: number(t, "min"), Max: number(t, "max"),
			Names: rapid.Bool().Draw(t, "names"), LabelW: rapid.IntRange(-1, 9).Draw(t, "labelW"), Cursor: rapid.IntRange(-1, 50).Draw(t, "cursor")}
		for i := range rapid.IntRange(0, 6).Draw(t, "lines") {
			s.Lines = append(s.Lines, Line{Name: label.Draw(t, "name"), Values: figures(t, n+i)})
		}
		if rapid.Bool().Draw(t, "band") {
			s.Band = &Band{Low: figures(t, n), High: figures(t, n/2)}
		}
		return plotDrawer{s}
	case 7:
		h := Heat{Labels: labels, Max: number(t, "max"), Cursor: rapid.IntRange(-1, 50).Draw(t, "cursor")}
		for i := range n {
			h.Rows = append(h.Rows, figures(t, i%5))
		}
		return plotDrawer{h}
	case 8:
		return TimeAxis{FromNS: ns.Draw(t, "from"), ToNS: ns.Draw(t, "to"), BucketNS: rapid.Int64Range(-1, 1e12).Draw(t, "bucket"), Live: rapid.Bool().Draw(t, "live"), Cursor: rapid.IntRange(-1, 50).Draw(t, "cursor")}
	default:
		return Scrub{FromNS: ns.Draw(t, "from"), ToNS: ns.Draw(t, "to"), ViewFromNS: ns.Draw(t, "viewFrom"), ViewToNS: ns.Draw(t, "viewTo"), CursorNS: ns.Draw(t, "cursor"),
			Values: figures(t, n), Events: []Event{{NS: ns.Draw(t, "event"), Rune: rapid.Rune().Draw(t, "rune")}}}
	}
}

// No chart of any contents panics or writes outside its grid, whatever the size, and the picture keeps its width.
func TestChartsStayInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gl := rapid.SampledFrom([]theme.Glyphs{theme.UnicodeGlyphs(), theme.ASCIIGlyphs()}).Draw(t, "glyphs")
		gl.Braille = rapid.Bool().Draw(t, "braille")
		whole := NewGrid(rapid.IntRange(0, 60).Draw(t, "w"), rapid.IntRange(0, 12).Draw(t, "h"), gl)
		whole.Fill(whole.Bounds(), '@', theme.RoleBad)
		rect := Rect{
			X: rapid.IntRange(-3, 20).Draw(t, "x"), Y: rapid.IntRange(-3, 6).Draw(t, "y"),
			W: rapid.IntRange(-1, 50).Draw(t, "rw"), H: rapid.IntRange(-1, 10).Draw(t, "rh"),
		}
		part := whole.Sub(rect)
		part.Clear()
		anyChart(t).Draw(part)
		seen := rect.Cut(whole.Bounds())
		for y := range whole.H() {
			for x := range whole.W() {
				if !seen.In(x, y) && (whole.Rune(x, y) != '@' || whole.Role(x, y) != theme.RoleBad) {
					t.Fatalf("%v: wrote %q at %d, %d", rect, whole.Rune(x, y), x, y)
				}
			}
		}
		checkWidth(t, whole)
		checkRender(t, whole, theme.Dark())
	})
}
