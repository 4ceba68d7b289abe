package report

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"opprof/campaign/gate"
)

// Colours stand for those of the page, which knows whether it is light, dark or paper: they are replaced in the SVG.
const (
	ink    mark = 3
	faint  mark = 4
	accent mark = 5
	alarm  mark = 6
)

// mark is a colour that no plot would have by itself.
type mark uint8

func (m mark) RGBA() (r, g, b, a uint32) { return color.RGBA{1, 2, uint8(m), 255}.RGBA() }

func pageColours() *strings.Replacer {
	return strings.NewReplacer("#010203", "var(--ink)", "#010204", "var(--faint)", "#010205", "var(--accent)", "#010206", "var(--alarm)", "#000000", "var(--ink)")
}

// pairPlot shows the regression of every pair, in their order, with the mean, the upper bound and the limit.
func pairPlot(m *gate.Result, limitPct float64) (template.HTML, error) {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.X.Label.Text, p.Y.Label.Text = "pair", "regression, %"
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color, axis.Tick.Color, axis.Tick.Label.Color, axis.Label.TextStyle.Color = faint, faint, ink, ink
	}
	var first, second plotter.XYs // by which arm ran first
	low, high := math.Min(0, -0.1*limitPct), 1.2*limitPct
	for i, e := range m.Pairs {
		at := plotter.XY{X: float64(i + 1), Y: e.Pct}
		low, high = math.Min(low, e.Pct), math.Max(high, e.Pct)
		if e.Order == "BA" {
			second = append(second, at)
		} else {
			first = append(first, at)
		}
	}
	width := float64(max(len(m.Pairs), 2))
	p.X.Min, p.X.Max = 0.5, width+0.5
	p.X.Tick.Marker = pairTicks(len(m.Pairs))
	level(p, limitPct, width, alarm, nil)
	level(p, 0, width, faint, nil)
	for _, line := range []struct {
		at   *float64
		dash []vg.Length
	}{{m.PointPct, nil}, {m.UpperPct, []vg.Length{vg.Points(4), vg.Points(3)}}} {
		if line.at != nil && !math.IsNaN(*line.at) && !math.IsInf(*line.at, 0) {
			low, high = math.Min(low, *line.at), math.Max(high, *line.at)
			level(p, *line.at, width, accent, line.dash)
		}
	}
	p.Y.Min, p.Y.Max = low-0.05*(high-low), high+0.05*(high-low)
	for _, s := range []struct {
		points plotter.XYs
		shape  draw.GlyphDrawer
	}{{first, draw.CircleGlyph{}}, {second, draw.TriangleGlyph{}}} {
		if len(s.points) == 0 {
			continue
		}
		scatter, err := plotter.NewScatter(s.points)
		if err != nil {
			return "", fmt.Errorf("cannot plot %s: %w", m.Name, err)
		}
		scatter.GlyphStyle = draw.GlyphStyle{Color: ink, Radius: vg.Points(3.5), Shape: s.shape}
		p.Add(scatter)
	}
	return svg(p)
}

// level draws a line across the plot.
func level(p *plot.Plot, at, width float64, c color.Color, dash []vg.Length) {
	line, err := plotter.NewLine(plotter.XYs{{X: 0.5, Y: at}, {X: width + 0.5, Y: at}})
	if err != nil {
		return // of a value that is not finite, which the gate leaves out
	}
	line.Color, line.Width, line.Dashes = c, vg.Points(1.2), dash
	p.Add(line)
}

// pairTicks are the pairs' numbers on an axis.
func pairTicks(n int) plot.ConstantTicks {
	step := max(1, (n+11)/12)
	var out plot.ConstantTicks
	for i := 1; i <= n; i += step {
		out = append(out, plot.Tick{Value: float64(i), Label: fmt.Sprint(i)})
	}
	return out
}

const plotWidth, plotHeight = 14 * vg.Centimeter, 6 * vg.Centimeter

// svg draws a plot for a page: without a prolog, in the page's colours and letters, as wide as there is room.
func svg(p *plot.Plot) (template.HTML, error) {
	for _, style := range []*font.Font{&p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font} {
		style.Variant = "Sans"
	}
	canvas := vgsvg.New(plotWidth, plotHeight)
	p.Draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", fmt.Errorf("cannot plot: %w", err)
	}
	text := b.String()
	text = text[strings.Index(text, "<svg"):]
	text = strings.Replace(text, "<svg ", `<svg class="plot" `, 1)
	return template.HTML(pageColours().Replace(text)), nil // only numbers and fixed words are in it
}
