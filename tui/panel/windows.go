package panel

import (
	"cmp"
	"strconv"

	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/layout"
	"opprof/tui/theme"
)

// windowsPanel lists the profiler windows that the profile markers of Layer 1 tell of, newest last.
func windowsPanel() Panel {
	return Panel{ID: layout.Windows, Titles: []string{"profiler windows"}, Right: func(in *Input) []string {
		return []string{unit.Count(int64(len(in.Frame.Windows))) + " in run"}
	}, Draw: drawWindows}
}

// WindowName is what a window of a frame is called: by time where the frame was made of records alone.
func WindowName(f *store.Frame, i int) string { return cmp.Or(f.Windows[i].Name, strconv.Itoa(i+1)) }

func drawWindows(g *chart.Grid, in *Input) {
	windows := in.Frame.Windows
	if len(windows) == 0 {
		note(g, 0, "none in this run")
		return
	}
	columns := []tableColumn{
		{head: "#", right: true}, {head: "started"}, {head: "state"}, {head: "steps"}, {head: "count", right: true},
		{head: "longest step", right: true}, {head: "engine"},
	}
	rows := make([][]cell, len(windows))
	for i := range windows {
		rows[i] = windowRow(i, &windows[i], in)
	}
	hidden := max(0, len(rows)-(g.H()-1))
	table(g, columns, rows, unit.Count(int64(hidden))+" earlier")
}

func windowRow(i int, w *store.Window, in *Input) []cell {
	state, role := "closed", theme.RoleText
	n := unit.Unknown
	switch {
	case w.StopNS == 0:
		state, role = "open", theme.RoleWarn
	case !w.Empty():
		n = unit.Count(w.StopAfterStep - w.AfterStep)
	}
	longest := cell{unit.Unknown, theme.RoleDim}
	if w.LongestNS > 0 {
		longest = cell{unit.Duration(w.LongestNS), theme.RoleText}
		if w.LongestNS >= store.StallNS {
			longest.role = theme.RoleWarn
		}
	}
	return []cell{
		{WindowName(in.Frame, i), theme.RoleWindow}, {unit.ClockSeconds(w.StartNS, in.Zone), theme.RoleText}, {state, role},
		{MarkedSteps(w), theme.RoleText}, {n, theme.RoleText}, longest, {w.Engine, theme.RoleDim},
	}
}

// MarkedSteps are the steps between the markers of a window; "-" where there are none.
func MarkedSteps(w *store.Window) string {
	switch {
	case w.Empty():
		return unit.Unknown
	case w.StopNS == 0:
		return unit.Count(w.AfterStep+1) + "-"
	}
	return unit.Count(w.AfterStep+1) + "-" + unit.Count(w.StopAfterStep)
}
