package layout

import "opprof/tui/chart"

// ID names a part of the screen.
type ID string

// The parts of the live and review page. Header, Tabs and Footer are single lines; Load and Pressure are panels that stand for two
// (Batch and Queues, Prefix and Preempt) where there is no room for both.
const (
	Header      ID = "header"
	Tabs        ID = "tabs"
	Scrub       ID = "scrub"
	Footer      ID = "footer"
	Period      ID = "period"
	Load        ID = "load"
	Batch       ID = "batch"
	Queues      ID = "queues"
	Context     ID = "context"
	ContextTime ID = "context-time"
	Chunk       ID = "chunk"
	KV          ID = "kv"
	Graph       ID = "graph"
	Pressure    ID = "pressure"
	Prefix      ID = "prefix"
	Preempt     ID = "preempt"
	Step        ID = "step"
	Windows     ID = "windows"
	Engines     ID = "engines"
)

// The smallest terminal that shows a page. Below it the screen says what it has and what it needs.
const (
	MinWidth  = 60
	MinHeight = 16
)

// Density is how much a page shows at once.
type Density uint8

// Densities. Auto goes by the width of the terminal.
const (
	Auto Density = iota
	Compact
	Normal
	Full
	Densities // number of densities
)

func (d Density) String() string {
	return [...]string{"auto", "compact", "normal", "full"}[d%Densities]
}

// of returns the density that a width gives, at most as much as has room there.
func (d Density) of(width int) Density {
	most := Full
	switch {
	case width < 100:
		most = Compact
	case width < 150:
		most = Normal
	}
	if d == Auto {
		return most
	}
	return min(d, most)
}

// Page describes the page to arrange.
type Page struct {
	Width, Height int
	Scrubber      bool // a line over the whole run above the panels
	Engines       int  // engines of the run; the engine panel stands where there is more than one
	Density       Density
	Preset        Preset
	Maximised     ID // the one panel that takes the whole body; "" shows all that fit
}

// Box is one placed part. Joined says that its top border is the bottom border of the box above.
type Box struct {
	ID     ID
	Rect   chart.Rect
	Joined bool
}

// Fits reports whether a terminal of this size can show a page.
func Fits(width, height int) bool { return width >= MinWidth && height >= MinHeight }

// Arrange places the parts of a page: header and tab line at the top, footer at the bottom, panels between, by the template for the
// width. Rows that do not fit are left out from the least important one. It returns nil for a size that does not fit.
func Arrange(p Page) []Box {
	if !Fits(p.Width, p.Height) {
		return nil
	}
	boxes := []Box{
		{ID: Header, Rect: chart.Rect{W: p.Width, H: 1}},
		{ID: Tabs, Rect: chart.Rect{Y: 1, W: p.Width, H: 1}},
	}
	body := chart.Rect{Y: 2, W: p.Width, H: p.Height - 3}
	if p.Scrubber {
		h := scrubHeight(p.Height)
		boxes = append(boxes, Box{ID: Scrub, Rect: chart.Rect{Y: body.Y, W: p.Width, H: h}})
		body.Y += h
		body.H -= h
	}
	if p.Maximised != "" {
		boxes = append(boxes, Box{ID: p.Maximised, Rect: body})
	} else {
		boxes = appendRows(boxes, fitRows(template(p, body.H), body.H), body)
	}
	return append(boxes, Box{ID: Footer, Rect: chart.Rect{Y: p.Height - 1, W: p.Width, H: 1}})
}

// scrubHeight is the number of lines of the scrubber: marks, overview and axis; taller where there is room.
func scrubHeight(height int) int {
	switch {
	case height < 30:
		return 3
	case height < 44:
		return 4
	}
	return 5
}

// Panels lists every panel that a page can show maximised, most important first.
func Panels(engines int) []ID {
	ids := []ID{Period, KV, Context, Chunk, Graph, Batch, Queues, Prefix, Preempt, ContextTime, Windows, Step}
	if engines > 1 {
		ids = append(ids, Engines)
	}
	return ids
}

// Focusable returns the panels of boxes in reading order.
func Focusable(boxes []Box) []Box {
	var panels []Box
	for _, b := range boxes {
		switch b.ID {
		case Header, Tabs, Scrub, Footer:
		default:
			panels = append(panels, b)
		}
	}
	return panels
}
