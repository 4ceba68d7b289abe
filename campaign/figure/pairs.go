package figure

import (
	"fmt"
	"html/template"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"opprof/engine/unit"
)

// Pair is the regression of one pair, in percent.
type Pair struct {
	Name        string
	SecondFirst bool // the arm under test ran first
	Pct         float64
}

// Pairs shows the regression of every pair, in their order, with the mean, the upper end of the interval and the limit, all in percent.
type Pairs struct {
	What         string // in words, for those who do not see it
	Pairs        []Pair
	Point, Upper *float64 // nil is unknown
	LimitPct     float64
}

// SVG draws it.
func (f Pairs) SVG() (template.HTML, error) {
	p := newPlot("pair", "regression, %")
	right := float64(max(len(f.Pairs), 2)) + 0.5
	p.X.Min, p.X.Max = 0.5, right
	p.X.Tick.Marker = f.ticks()
	values := stretch{math.Min(0, -0.1*f.LimitPct), 1.15 * f.LimitPct}
	for _, l := range f.levels() {
		values.add(l.at)
	}
	for _, e := range f.Pairs {
		values.add(e.Pct)
	}
	p.Y.Min, p.Y.Max = values.padded()
	p.Y.Tick.Marker = numbers{}
	var labels []label
	for _, l := range f.levels() {
		if !finite(l.at) {
			continue
		}
		if err := line(p, plotter.XYs{{X: 0.5, Y: l.at}, {X: right, Y: l.at}}, l.stroke); err != nil {
			return "", err
		}
		at := plotter.XY{X: 0.5, Y: l.at}
		if l.right {
			at.X = right
		}
		if l.words != "" {
			labels = append(labels, label{at, l.words, l.right})
		}
	}
	if err := f.points(p); err != nil {
		return "", err
	}
	return render(p, f.What, labels, f.hots())
}

// level is a line across the plot.
type level struct {
	at    float64
	words string
	right bool
	stroke
}

func (f Pairs) levels() []level {
	out := []level{{0, "", false, stroke{faint, 0.8, nil}}, {f.LimitPct, fmt.Sprintf("limit %.4g %%", f.LimitPct), false, stroke{alarm, 1.6, dashes(7, 3)}}}
	if f.Upper != nil {
		out = append(out, level{*f.Upper, fmt.Sprintf("upper end %.2f %%", *f.Upper), true, stroke{accent, 1.2, dashes(2, 2)}})
	}
	if f.Point != nil {
		out = append(out, level{*f.Point, "", true, stroke{accent, 1.4, nil}})
	}
	return out
}

// points are full circles for pairs in the usual order and open triangles for those in the other.
func (f Pairs) points(p *plot.Plot) error {
	var usual, other plotter.XYs
	for i, e := range f.Pairs {
		if !finite(e.Pct) {
			continue
		}
		at := plotter.XY{X: float64(i + 1), Y: e.Pct}
		if e.SecondFirst {
			other = append(other, at)
		} else {
			usual = append(usual, at)
		}
	}
	for _, s := range []struct {
		points plotter.XYs
		shape  draw.GlyphDrawer
	}{{usual, draw.CircleGlyph{}}, {other, draw.PyramidGlyph{}}} {
		if len(s.points) == 0 {
			continue
		}
		scatter, err := plotter.NewScatter(s.points)
		if err != nil {
			return fmt.Errorf("cannot draw pairs: %w", err)
		}
		scatter.GlyphStyle = draw.GlyphStyle{Color: ink, Radius: vg.Points(3.5), Shape: s.shape}
		p.Add(scatter)
	}
	return nil
}

func (f Pairs) hots() []hot {
	var out []hot
	for i, e := range f.Pairs {
		order := "usual order"
		if e.SecondFirst {
			order = "other order"
		}
		said := fmt.Sprintf("pair %s, %s: ", e.Name, order)
		if finite(e.Pct) {
			said += fmt.Sprintf("%.2f %%", e.Pct)
		} else {
			said += unit.Unknown
		}
		out = append(out, hot{float64(i) + 0.5, float64(i) + 1.5, said, true})
	}
	return out
}

// ticks are the pairs' names, as many as fit.
func (f Pairs) ticks() plot.ConstantTicks {
	step := max(1, (len(f.Pairs)+11)/12)
	var out plot.ConstantTicks
	for i := 0; i < len(f.Pairs); i += step {
		out = append(out, plot.Tick{Value: float64(i + 1), Label: f.Pairs[i].Name})
	}
	return out
}
