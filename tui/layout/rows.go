package layout

import (
	"slices"

	"opprof/tui/chart"
)

// row is one band of panels: at least min lines, want where there is room, and grow parts of what is left beyond that. An extra row
// stands only where the rows before it have what they want.
type row struct {
	min, want, grow int
	extra           bool
	columns         []column
}

// column is a stack of panels that takes weight parts of the width of its row. The panels of a stack share their borders; the first
// one gets the lines that do not divide.
type column struct {
	weight int
	stack  []ID
}

func col(weight int, stack ...ID) column { return column{weight, stack} }

// template returns the rows of a page for its width and the lines there are, most important first.
func template(p Page, lines int) []row {
	var rows []row
	switch density := p.Density.of(p.Width); {
	case p.Preset != PresetAll:
		rows = p.Preset.rows()
	case lines < 18:
		rows = shortRows(p.Width)
	case density == Compact:
		rows = narrowRows()
	case density == Normal:
		rows = middleRows()
	default:
		rows = wideRows()
	}
	if p.Engines > 1 {
		engines := row{min: min(p.Engines, 4) + 3, want: min(p.Engines, 16) + 3, columns: []column{col(1, Engines)}}
		rows = slices.Insert(rows, min(3, len(rows)), engines)
	}
	return rows
}

func shortRows(width int) []row {
	if width < 100 {
		return []row{
			{min: 5, want: 7, grow: 1, columns: []column{col(5, Period), col(4, KV)}},
			{min: 5, want: 8, grow: 1, columns: []column{col(1, Context), col(1, Chunk)}},
		}
	}
	return []row{
		{min: 5, want: 7, grow: 1, columns: []column{col(5, Period), col(3, Load), col(3, KV)}},
		{min: 5, want: 8, grow: 1, columns: []column{col(1, Context), col(1, Chunk), col(1, Graph)}},
	}
}

func narrowRows() []row {
	return []row{
		{min: 6, want: 7, grow: 3, columns: []column{col(49, Period), col(31, Load)}},
		{min: 6, want: 8, grow: 2, columns: []column{col(1, Context), col(1, Chunk)}},
		{min: 5, want: 6, grow: 1, columns: []column{col(1, KV), col(1, Graph), col(1, Pressure)}},
		{min: 6, want: 8, grow: 1, extra: true, columns: []column{col(1, ContextTime), col(1, Step)}},
		{min: 4, want: 6, extra: true, columns: []column{col(1, Windows)}},
	}
}

func middleRows() []row {
	return []row{
		{min: 7, want: 9, grow: 3, columns: []column{col(74, Period), col(46, Batch, Queues)}},
		{min: 8, want: 14, grow: 1, columns: []column{col(44, Context), col(44, Chunk), col(32, KV)}},
		{min: 7, want: 9, grow: 1, columns: []column{col(44, ContextTime), col(44, Graph), col(32, Prefix, Preempt)}},
		{min: 4, want: 5, extra: true, columns: []column{col(1, Windows)}},
		{min: 7, want: 10, grow: 1, extra: true, columns: []column{col(1, Step)}},
	}
}

func wideRows() []row {
	return []row{
		{min: 8, want: 10, grow: 3, columns: []column{col(96, Period), col(46, Batch), col(38, Queues)}},
		{min: 8, want: 14, grow: 1, columns: []column{col(48, Context), col(48, ContextTime), col(46, Chunk), col(38, KV)}},
		{min: 7, want: 9, grow: 2, columns: []column{col(62, Graph), col(60, Prefix), col(58, Preempt)}},
		{min: 6, want: 9, extra: true, columns: []column{col(66, Windows), col(114, Step)}},
	}
}

// fitRows chooses the rows that fit into lines and gives each its height: min first, then up to want in order of importance, then the
// rest by grow. The heights add up to lines.
func fitRows(rows []row, lines int) []fitted {
	var fit []fitted
	left, wanted := lines, 0
	for _, r := range rows {
		if r.min <= left && (!r.extra || wanted+r.min <= lines) {
			fit = append(fit, fitted{r, r.min})
			left -= r.min
			wanted += r.want
		}
	}
	for i := range fit {
		more := min(fit[i].want-fit[i].height, left)
		fit[i].height += more
		left -= more
	}
	grow := make([]int, len(fit))
	for i, f := range fit {
		grow[i] = f.grow
	}
	for i, more := range share(left, grow) {
		fit[i].height += more
	}
	return fit
}

type fitted struct {
	row
	height int
}

// share splits n into parts in proportion to weights, exactly; the earliest parts take what does not divide. All weights zero gives
// everything to the first part.
func share(n int, weights []int) []int {
	parts := make([]int, len(weights))
	total := 0
	for _, w := range weights {
		total += w
	}
	if total == 0 {
		if len(parts) > 0 {
			parts[0] = n
		}
		return parts
	}
	given := 0
	for i, w := range weights {
		parts[i] = n * w / total
		given += parts[i]
	}
	for i := 0; given < n; i = (i + 1) % len(parts) {
		if weights[i] > 0 {
			parts[i]++
			given++
		}
	}
	return parts
}

// appendRows turns rows into boxes inside body.
func appendRows(boxes []Box, rows []fitted, body chart.Rect) []Box {
	y := body.Y
	for _, r := range rows {
		weights := make([]int, len(r.columns))
		for i, c := range r.columns {
			weights[i] = c.weight
		}
		x := body.X
		for i, w := range share(body.W, weights) {
			boxes = appendStack(boxes, r.columns[i].stack, chart.Rect{X: x, Y: y, W: w, H: r.height})
			x += w
		}
		y += r.height
	}
	return boxes
}

// appendStack places the panels of one column below each other; neighbours share one border line.
func appendStack(boxes []Box, stack []ID, r chart.Rect) []Box {
	weights := make([]int, len(stack))
	for i := range weights {
		weights[i] = 1
	}
	inner := share(r.H-len(stack)-1, weights)
	y := r.Y
	for i, id := range stack {
		boxes = append(boxes, Box{ID: id, Rect: chart.Rect{X: r.X, Y: y, W: r.W, H: inner[i] + 2}, Joined: i > 0})
		y += inner[i] + 1
	}
	return boxes
}
