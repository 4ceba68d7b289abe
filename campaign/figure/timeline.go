package figure

import (
	"fmt"
	"html/template"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// Line is one quantity over time, a value for each column; NaN is a gap.
type Line struct {
	Name   string
	Values []float64
}

// Timeline shows up to three quantities over the same columns of time, and a band between two of them. Lines differ in colour and in dashes.
type Timeline struct {
	What         string
	Y            string // what the axis is, with unit
	FromNS, ToNS int64  // ns since 1970
	Zone         *time.Location
	Log          bool
	Lines        []Line
	Low, High    []float64 // of the band; nil for none
	Texts        []string  // of each column, under the pointer
	Notes        []Note
}

// Note is a letter at a moment, such as the start of a profiler window.
type Note struct {
	AtNS   int64
	Letter string
}

// SVG draws it.
func (f Timeline) SVG() (template.HTML, error) {
	p := newPlot("", f.Y)
	n := len(f.Texts)
	span := float64(max(f.ToNS-f.FromNS, 1))
	p.X.Min, p.X.Max = 0, span
	p.X.Tick.Marker = clock{f.FromNS, f.Zone}
	f.scale(p)
	at := func(i int) float64 { return (float64(i) + 0.5) * span / float64(max(n, 1)) }
	if err := f.drawBand(p, at); err != nil {
		return "", err
	}
	styles := []stroke{{accent, 1.4, nil}, {ink, 1, dashes(4, 2)}, {alarm, 1, dashes(1, 2)}}
	for i, l := range f.Lines {
		for _, part := range f.pieces(l.Values, at, span/float64(max(n, 1))) {
			if err := line(p, part, styles[i%len(styles)]); err != nil {
				return "", err
			}
		}
	}
	var labels []label
	for _, m := range f.Notes {
		x := float64(m.AtNS - f.FromNS)
		if x < 0 || x > span {
			continue
		}
		if err := line(p, plotter.XYs{{X: x, Y: p.Y.Min}, {X: x, Y: p.Y.Max}}, stroke{faint, 0.6, dashes(1, 1)}); err != nil {
			return "", err
		}
		labels = append(labels, label{plotter.XY{X: x, Y: p.Y.Min}, m.Letter, false})
	}
	var hots []hot
	for i, said := range f.Texts {
		hots = append(hots, hot{at(i) - span/float64(n)/2, at(i) + span/float64(n)/2, said, false})
	}
	return render(p, f.What, labels, hots)
}

// scale sets the value axis: from 0, or logarithmic over the values above 0.
func (f Timeline) scale(p *plot.Plot) {
	values := newStretch()
	all := [][]float64{f.Low, f.High}
	for _, l := range f.Lines {
		all = append(all, l.Values)
	}
	for _, list := range all {
		for _, v := range list {
			if !f.Log || v > 0 {
				values.add(v)
			}
		}
	}
	if f.Log && values.low < values.high {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
		p.Y.Min, p.Y.Max = values.low/1.1, values.high*1.1
		if p.Y.Max < p.Y.Min*10 { // so that at least one round number has a tick
			p.Y.Max = p.Y.Min * 10
		}
		return
	}
	values.add(0)
	_, p.Y.Max = values.padded()
	if values.high <= 0 {
		p.Y.Max = 1
	}
	p.Y.Min, p.Y.Tick.Marker = 0, numbers{}
}

// drawn reports whether a value has a place on the axis.
func (f Timeline) drawn(v float64) bool { return finite(v) && (!f.Log || v > 0) }

// pieces are the parts of a line between its gaps. A value that stands alone is as wide as its column.
func (f Timeline) pieces(values []float64, at func(int) float64, column float64) []plotter.XYs {
	var out []plotter.XYs
	var part plotter.XYs
	end := func() {
		if len(part) == 1 {
			part = plotter.XYs{{X: part[0].X - column/2, Y: part[0].Y}, {X: part[0].X + column/2, Y: part[0].Y}}
		}
		if len(part) > 0 {
			out = append(out, part)
		}
		part = nil
	}
	for i, v := range values {
		if !f.drawn(v) {
			end()
			continue
		}
		part = append(part, plotter.XY{X: at(i), Y: v})
	}
	end()
	return out
}

// drawBand fills the range between Low and High, in parts between its gaps.
func (f Timeline) drawBand(p *plot.Plot, at func(int) float64) error {
	column := at(1) - at(0)
	for i := 0; i < len(f.Low); i++ {
		begin := i
		for i < len(f.Low) && f.drawn(f.Low[i]) && f.drawn(f.High[i]) {
			i++
		}
		if i == begin {
			continue
		}
		var area plotter.XYs
		for k := begin; k < i; k++ {
			area = append(area, plotter.XY{X: at(k), Y: f.High[k]})
		}
		for k := i - 1; k >= begin; k-- {
			area = append(area, plotter.XY{X: at(k), Y: f.Low[k]})
		}
		if i-begin == 1 { // as wide as its column
			left, right := at(begin)-column/2, at(begin)+column/2
			area = plotter.XYs{{X: left, Y: f.High[begin]}, {X: right, Y: f.High[begin]}, {X: right, Y: f.Low[begin]}, {X: left, Y: f.Low[begin]}}
		}
		shape, err := plotter.NewPolygon(area)
		if err != nil {
			return fmt.Errorf("cannot draw %s: %w", f.What, err)
		}
		shape.Color, shape.LineStyle.Width = band, 0
		p.Add(shape)
	}
	return nil
}
