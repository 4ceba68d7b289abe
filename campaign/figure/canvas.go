package figure

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"image/color"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Colours stand for those of the page: they are replaced in the SVG.
const (
	ink    mark = 3
	faint  mark = 4
	accent mark = 5
	alarm  mark = 6
	band   mark = 7
	paper  mark = 8
)

// mark is a colour that no plot would have by itself.
type mark uint8

func (m mark) RGBA() (r, g, b, a uint32) { return color.RGBA{1, 2, uint8(m), 255}.RGBA() }

func pageColours() *strings.Replacer {
	return strings.NewReplacer("#010203", "var(--ink)", "#010204", "var(--faint)", "#010205", "var(--accent)", "#010206", "var(--alarm)",
		"#010207", "var(--band)", "#010208", "var(--paper)", "#000000", "var(--ink)")
}

// Every plot has this size, so that letters are as large in all of them; readout is the line above the plot in which values are shown.
const (
	width, height = 360 * vg.Length(1), 200 * vg.Length(1)
	readout       = 16 * vg.Length(1)
	letters       = 10 * vg.Length(1)
	readoutRunes  = 50 // that surely fit into the line; more are squeezed
)

// hot is a part of a plot that says something under the pointer. From and To are values on the x axis.
type hot struct {
	from, to float64
	text     string
	focus    bool // the keyboard reaches it
}

// newPlot is an empty plot with named axes.
func newPlot(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color, axis.Tick.Color, axis.Tick.Label.Color, axis.Label.TextStyle.Color = faint, faint, ink, ink
		for _, style := range []*text.Style{&axis.Label.TextStyle, &axis.Tick.Label} {
			style.Font = font.Font{Typeface: style.Font.Typeface, Variant: "Sans", Size: letters}
		}
		axis.Padding = 2
	}
	return p
}

// label is words in a plot, above a point; they begin there or, at the right, end.
type label struct {
	at    plotter.XY
	words string
	right bool
}

// render draws a plot for a page: without a prolog, in the page's colours and letters, as wide as there is room. what says in words what it shows.
func render(p *plot.Plot, what string, labels []label, hots []hot) (template.HTML, error) {
	canvas := vgsvg.New(width, height)
	area := draw.Crop(draw.New(canvas), 1, -10, 1, -readout)
	p.Draw(area)
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", fmt.Errorf("cannot draw %s: %w", what, err)
	}
	svg := b.String()
	svg = svg[strings.Index(svg, "<svg"):]
	from, to := strings.Index(svg, ">"), strings.LastIndex(svg, "</svg>")
	data := p.DataCanvas(area)
	over := overlay(p, &data, labels, hots)
	head := fmt.Sprintf(`<svg class="plot" viewBox="0 0 %g %g" role="group" aria-label="%s">`, width.Points(), height.Points(), escape(what))
	return template.HTML(head + pageColours().Replace(svg[from+1:to]) + over + "</svg>"), nil // texts are escaped, here and by the canvas
}

// overlay is what the browser measures and draws by itself: words, and the parts that react, which light up and show their text in the line
// above the plot.
func overlay(p *plot.Plot, data *draw.Canvas, labels []label, hots []hot) string {
	x, y := p.Transforms(data)
	top, bottom := height-data.Max.Y, height-data.Min.Y
	var b strings.Builder
	for _, l := range labels {
		anchor := "start"
		if l.right {
			anchor = "end"
		}
		fmt.Fprintf(&b, `<text class="label" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x(l.at.X).Points(), (height - y(l.at.Y) - 3).Points(), anchor, escape(l.words))
	}
	b.WriteString(`<g class="hots">`)
	for _, h := range hots {
		from, to := max(x(h.from), data.Min.X), min(x(h.to), data.Max.X)
		if to <= from {
			continue
		}
		focus := ""
		if h.focus {
			focus = ` tabindex="0"`
		}
		said, squeeze := escape(h.text), ""
		if utf8.RuneCountInString(h.text) > readoutRunes {
			squeeze = fmt.Sprintf(` textLength="%g" lengthAdjust="spacingAndGlyphs"`, width.Points()-8)
		}
		fmt.Fprintf(&b, `<g class="hot" role="img" aria-label="%s"%s><rect x="%.1f" y="%.1f" width="%.2f" height="%.1f"/><text x="4" y="11"%s>%s</text></g>`,
			said, focus, from.Points(), top.Points(), (to - from).Points(), (bottom - top).Points(), squeeze, said)
	}
	b.WriteString(`</g>`)
	return b.String()
}

// stretch is the range of finite values.
type stretch struct{ low, high float64 }

func newStretch() stretch { return stretch{math.Inf(1), math.Inf(-1)} }

func (s *stretch) add(values ...float64) {
	for _, v := range values {
		if finite(v) {
			s.low, s.high = math.Min(s.low, v), math.Max(s.high, v)
		}
	}
}

// padded leaves a little room at both ends; an empty range is [0,1].
func (s *stretch) padded() (low, high float64) {
	switch {
	case s.low > s.high:
		return 0, 1
	case s.low == s.high:
		room := math.Max(math.Abs(s.low)*0.1, 1e-9)
		return s.low - room, s.high + room
	}
	room := 0.04 * (s.high - s.low)
	return s.low - room, s.high + room
}

// finite reports whether a value can be drawn: beyond 1e200 the arithmetic of an axis overflows.
func finite(v float64) bool { return math.Abs(v) <= 1e200 }

// stroke is how a line is drawn.
type stroke struct {
	colour color.Color
	width  vg.Length
	dash   []vg.Length
}

func dashes(n ...vg.Length) []vg.Length { return n }

// line draws through points.
func line(p *plot.Plot, points plotter.XYs, s stroke) error {
	l, err := plotter.NewLine(points)
	if err != nil {
		return fmt.Errorf("cannot draw a line: %w", err)
	}
	l.Color, l.Width, l.Dashes = s.colour, s.width, s.dash
	p.Add(l)
	return nil
}

// escape makes text from outside a text of SVG, without characters that are not printed.
func escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?")))
}
