package figure

import (
	"fmt"
	"html/template"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// Bar is one bar of Bars.
type Bar struct {
	Name  string // below it
	Value float64
	Text  string // under the pointer
}

// Bars are values side by side, such as the bins of a histogram.
type Bars struct {
	What string
	X, Y string // what the axes are, with units
	Bars []Bar
}

// SVG draws it.
func (f Bars) SVG() (template.HTML, error) {
	p := newPlot(f.X, f.Y)
	p.X.Min, p.X.Max = -0.5, float64(max(len(f.Bars), 1))-0.5
	high := 0.0
	var ticks plot.ConstantTicks
	var hots []hot
	for i, b := range f.Bars {
		at := float64(i)
		ticks = append(ticks, plot.Tick{Value: at, Label: b.Name})
		hots = append(hots, hot{at - 0.5, at + 0.5, b.Text, false})
		if !finite(b.Value) || b.Value <= 0 {
			continue
		}
		high = math.Max(high, b.Value)
		box, err := plotter.NewPolygon(plotter.XYs{{X: at - 0.4}, {X: at - 0.4, Y: b.Value}, {X: at + 0.4, Y: b.Value}, {X: at + 0.4}})
		if err != nil {
			return "", fmt.Errorf("cannot draw %s: %w", f.What, err)
		}
		box.Color, box.LineStyle.Width, box.LineStyle.Color = band, 0.8, ink
		p.Add(box)
	}
	if high == 0 {
		high = 1
	}
	p.Y.Min, p.Y.Max = 0, 1.05*high
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks, numbers{}
	p.X.Tick.Label.Font.Size = letters - 2 // names of bins stand close
	return render(p, f.What, nil, hots)
}
