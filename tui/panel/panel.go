package panel

import (
	"time"
	"unicode/utf8"

	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/tui/chart"
	"opprof/tui/layout"
)

// Input is what panels draw. A panel's picture depends on nothing else, so that it can be kept as long as the input stays the same.
type Input struct {
	Frame  *store.Frame       // the visible stretch of time; never nil
	Now    store.Instant      // composition at the cursor
	Rates  store.Rates        // before the cursor
	Run    rundir.Description // identity of the run
	Zone   *time.Location     // for clock times; nil is UTC
	Engine string             // selected engine; "" is all
	Live   bool               // the picture follows the newest step: time axes count back from now
	// CursorNS is the moment that Now speaks about, ns since 1970, when it is not the right edge of the frame; else 0.
	CursorNS int64
	Matches  []int64 // steps that a search has found, in the columns of the frame; nil without one
	Notes    []int64 // moments with a bookmark, ns since 1970
}

// Panel is one part of a page. Draw fills the inside of the panel's box from its top left cell, whatever its size; a line that does not
// fit is left out whole, least important last.
type Panel struct {
	ID layout.ID
	// Titles name the panel and the unit of its figures, in full first, shorter ones for narrow boxes after it.
	Titles []string
	// Right returns texts for the right end of the title line, best first: the first that fits is shown. It may be nil.
	Right func(in *Input) []string
	Draw  func(g *chart.Grid, in *Input)
}

// Title is the panel's name in full.
func (p Panel) Title() string { return p.Titles[0] }

// All returns the panels by id.
func All() map[layout.ID]Panel {
	all := map[layout.ID]Panel{}
	for _, p := range []Panel{
		periodPanel(), loadPanel(), batchPanel(), queuesPanel(), contextPanel(), contextTimePanel(), chunkPanel(), kvPanel(), graphPanel(),
		pressurePanel(), prefixPanel(), preemptPanel(), stepPanel(), windowsPanel(), enginesPanel(),
	} {
		all[p.ID] = p
	}
	return all
}

// Frame draws the border of a panel with its title, and returns the window inside.
func (p Panel) Frame(g *chart.Grid, in *Input, focus bool) *chart.Grid {
	var rights []string
	if p.Right != nil && !in.nothing() {
		rights = p.Right(in)
	}
	title, right := p.heading(rights, g.W()-4)
	return g.Box(title, right, focus)
}

// heading chooses the best text at the right that stands beside any title, and the longest title beside it; where there is no such pair,
// the longest title that fits alone.
func (p Panel) heading(rights []string, w int) (title, right string) {
	const pads = 2 // the blanks around a text in the border
	for _, right := range rights {
		for _, t := range p.Titles {
			if utf8.RuneCountInString(t)+pads+utf8.RuneCountInString(right)+pads < w {
				return t, right
			}
		}
	}
	if t := fit(p.Titles, w-pads); t != "" {
		return t, ""
	}
	return p.Titles[len(p.Titles)-1], ""
}

// fit returns the first text of at most w columns, "" if there is none.
func fit(texts []string, w int) string {
	for _, t := range texts {
		if utf8.RuneCountInString(t) <= w {
			return t
		}
	}
	return ""
}

// nothing reports whether no step is known.
func (in *Input) nothing() bool { return !in.Now.Known && in.Frame.Run.Counts.Steps == 0 }

// Recordless reports whether a run has ended and nothing recorded it.
func Recordless(run *rundir.Description) bool { return run.Kind == "finished" && len(run.Streams) == 0 }

// empty says that there is nothing to draw yet, and reports whether that is so.
func empty(g *chart.Grid, in *Input) bool {
	switch {
	case !in.nothing():
		return false
	case Recordless(&in.Run):
		note(g, 0, "no records")
	default:
		note(g, 0, "no step yet")
	}
	return true
}
