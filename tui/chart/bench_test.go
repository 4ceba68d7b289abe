package chart

import (
	"fmt"
	"testing"

	"opprof/tui/theme"
)

// page is a full screen of boxes and charts.
func page(w, h int) *Grid {
	g := NewGrid(w, h, theme.UnicodeGlyphs())
	drawPage(g)
	return g
}

func drawPage(g *Grid) {
	all := samples()
	names := []string{"series-line", "hist", "heat", "series-log", "stack", "meter"}
	for i, name := range names {
		box := Rect{X: (i % 2) * g.W() / 2, Y: (i / 2) * g.H() / 3, W: g.W() / 2, H: g.H() / 3}
		all[name].Draw(g.Sub(box).Box(name, "p50 11.8  p95 22.9", i == 0))
	}
}

func BenchmarkRender(b *testing.B) {
	g := page(180, 50)
	for _, th := range []*theme.Theme{theme.Dark(), theme.Mono()} {
		b.Run(th.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.SetBytes(int64(len(g.Render(th))))
			}
		})
	}
}

func BenchmarkDraw(b *testing.B) {
	all := samples()
	for _, name := range []string{"series-line", "series-column", "hist", "heat", "stack", "scrub", "axis-clock"} {
		b.Run(fmt.Sprintf("%s-90x12", name), func(b *testing.B) {
			g := NewGrid(90, 12, theme.UnicodeGlyphs())
			b.ReportAllocs()
			for b.Loop() {
				g.Clear()
				all[name].Draw(g)
			}
		})
	}
}

func BenchmarkSanitize(b *testing.B) {
	for name, s := range map[string]string{
		"plain":  "INFO 07-11 09:10:00 [core.py:69] Initializing a V1 LLM engine (v0.24.0) with config: model='Qwen/Qwen3-30B-A3B'",
		"colour": "\x1b[1;36m(EngineCore_DP0 pid=2211)\x1b[0;0m INFO 07-11 09:10:00 [core.py:69] Loading: 42%|████▏     | 5/12",
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				Sanitize(s)
			}
		})
	}
}
