package chart

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"opprof/tui/theme"
)

// drawer is what all charts are.
type drawer interface{ Draw(*Grid) }

// plotter is a chart that says where its curves are.
type plotter interface{ Draw(*Grid) Plot }

type plotDrawer struct{ plotter }

func (p plotDrawer) Draw(g *Grid) { p.plotter.Draw(g) }

func contextLabels() []string {
	return strings.Fields("128 256 512 1k 2k 4k 8k 16k 32k 65k 131k >131k")
}

// wave is n values between 0 and 2*mean, with a gap of two values in every 16.
func wave(n int, mean, period float64) []Value {
	out := make([]Value, n)
	for i := range out {
		if i%16 < 14 {
			out[i] = Of(mean * (1 + math.Sin(float64(i)/period)))
		}
	}
	return out
}

func contextRows(n int) [][]Value {
	rows := make([][]Value, len(contextLabels()))
	for i := range rows {
		rows[i] = wave(n, 9, 5+float64(i))
		for x := range rows[i] {
			rows[i][x] = rows[i][x].Scale(1 / (1 + math.Abs(float64(i)-4)))
			if i > 9 && rows[i][x].Known {
				rows[i][x] = Of(0)
			}
		}
	}
	return rows
}

// samples are the charts of the goldens and of the properties.
func samples() map[string]drawer {
	const start = 1_783_761_000_000_000_000 // 09:10:00 UTC
	p50, p95 := wave(120, 11.8, 9), wave(120, 30, 7)
	lines := []Line{{"p50", p50, theme.RolePeriod}, {"p95", p95, theme.RolePeriodTail}}
	counts := []int64{0, 3, 6, 12, 10, 5, 1, 0, 0, 0, 0, 1204}
	parts := []Part{{"FULL", 91, theme.RoleGraphFull}, {"PIECEWISE", 4, theme.RoleGraphPiecewise}, {"NONE", 5, theme.RoleGraphNone}, {"unknown", 0.1, theme.RoleGraphUnknown}}
	return map[string]drawer{
		"hist":          Hist{Labels: contextLabels(), Counts: counts, Role: theme.RoleContext},
		"hist-unknown":  Hist{Labels: contextLabels(), Counts: counts, Unknown: true},
		"hist-empty":    Hist{Labels: contextLabels(), Counts: make([]int64, 12)},
		"meter":         Meter{Value: Of(60.2), Max: 100, Text: "60.2 %", Role: theme.RoleKV},
		"meter-unknown": Meter{Max: 100, Text: "-", Role: theme.RoleKV},
		"stack":         StackRow{Parts: parts},
		"stack-rest":    StackRow{Parts: parts, Total: 200},
		"spark":         Spark{Values: p50, Role: theme.RoleKV},
		"series-line":   plotDrawer{Series{Lines: lines, Names: true, Cursor: 9}},
		"series-band":   plotDrawer{Series{Lines: lines[:1], Band: &Band{Low: p50, High: p95, Role: theme.RoleDim}}},
		"series-column": plotDrawer{Series{Lines: lines, Style: StyleColumn, Max: 80, LabelW: 4}},
		"series-log":    plotDrawer{Series{Lines: lines, Style: StyleColumn, Log: true}},
		"series-signed": plotDrawer{Series{Lines: []Line{{"", []Value{Of(-3), Of(-1), {}, Of(2), Of(5)}, theme.RolePeriod}}, Min: -5, Max: 5}},
		"series-none":   plotDrawer{Series{}},
		"heat":          plotDrawer{Heat{Labels: contextLabels(), Rows: contextRows(100), Cursor: 3}},
		"axis-live":     TimeAxis{FromNS: start, ToNS: start + 60e9, BucketNS: 1e9, Live: true},
		"axis-short":    TimeAxis{FromNS: start, ToNS: start + 3e9, BucketNS: 5e7, Live: true, Cursor: 11},
		"axis-clock":    TimeAxis{FromNS: start, ToNS: start + 120e9, BucketNS: 1e9, Loc: time.FixedZone("", 5400), Cursor: 5},
		"axis-day":      TimeAxis{FromNS: start, ToNS: start + 3*86400e9, BucketNS: 3600e9},
		"scrub": Scrub{FromNS: start, ToNS: start + 1000, ViewFromNS: start + 300, ViewToNS: start + 480, CursorNS: start + 480, Values: p95, Role: theme.RolePeriod,
			Events: []Event{{start + 100, 'w', theme.RoleWindow}, {start + 700, 'p', theme.RolePreempt}, {start + 701, 's', theme.RoleBad}}},
	}
}

// sizes are those of the goldens; charts of one line get one.
func sizes(d drawer) [][2]int {
	switch d.(type) {
	case TimeAxis, Meter, StackRow:
		return [][2]int{{9, 1}, {24, 1}, {50, 1}, {90, 1}}
	}
	return [][2]int{{9, 1}, {24, 3}, {50, 7}, {90, 12}}
}

func TestGolden(t *testing.T) {
	for name, d := range samples() {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			for _, gl := range []theme.Glyphs{theme.UnicodeGlyphs(), theme.ASCIIGlyphs()} {
				for _, size := range sizes(d) {
					g := NewGrid(size[0]+2, size[1]+2, gl)
					d.Draw(g.Box(fmt.Sprintf("%dx%d", size[0], size[1]), "", false))
					out.WriteString(g.Plain() + "\n")
				}
			}
			golden.RequireEqual(t, out.String())
		})
	}
}
