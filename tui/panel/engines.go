package panel

import (
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/layout"
	"opprof/tui/theme"
)

// enginesPanel has a row for every engine of the run (a data-parallel rank each); a mark stands beside the selected one.
func enginesPanel() Panel {
	return Panel{ID: layout.Engines, Titles: []string{"engines"}, Right: func(in *Input) []string {
		selected := "all together"
		if in.Engine != "" {
			selected = "selected " + in.Engine
		}
		return []string{selected}
	}, Draw: drawEngines}
}

func drawEngines(g *chart.Grid, in *Input) {
	if len(in.Frame.Engines) == 0 {
		note(g, 0, "no engine yet")
		return
	}
	columns := []tableColumn{
		{head: " "}, {head: "engine"}, {head: "state"}, {head: "step", right: true}, {head: "step/s", right: true},
		{head: "period ms", right: true}, {head: "decode", right: true}, {head: "prefill tok", right: true},
		{head: "waiting", right: true}, {head: "KV", right: true}, {head: "dec tok/s", right: true}, {head: "pre tok/s", right: true},
		{head: "lost", right: true},
	}
	rows := make([][]cell, len(in.Frame.Engines))
	for i := range in.Frame.Engines {
		rows[i] = engineRow(g, &in.Frame.Engines[i], in.Engine)
	}
	table(g, columns, rows, unit.Count(int64(max(0, len(rows)-(g.H()-1))))+" above")
}

func engineRow(g *chart.Grid, e *store.Engine, selected string) []cell {
	mark := " "
	if e.ID == selected {
		mark = string(g.Glyphs.Play)
	}
	stateMark, stateRole := StateMark(g.Glyphs, e.State)
	text := func(s string) cell { return cell{s, theme.RoleText} }
	row := []cell{{mark, theme.RoleAccent}, text(e.ID), {string(stateMark) + " " + e.State.Name, stateRole}}
	n := &e.Now
	if !n.Known {
		for range 9 {
			row = append(row, cell{unit.Unknown, theme.RoleDim})
		}
		return append(row, lossCell(&e.Loss))
	}
	return append(row,
		text(unit.Count(n.StepIndex)),
		text(rate(e.Rates, e.Rates.StepsPerS)),
		cell{unit.Known(n.PeriodNS, unit.DurationMS), theme.RolePeriod},
		cell{unit.Count(n.DecodeBatchSize), theme.RoleDecode},
		cell{unit.Count(n.PrefillTokens), theme.RolePrefill},
		cell{unit.Count(n.Queues.Waiting), theme.RoleQueue},
		cell{unit.Percent(n.KV.Usage), theme.RoleKV},
		cell{rate(e.Rates, e.Rates.DecodeTokPerS), theme.RoleDecode},
		cell{rate(e.Rates, e.Rates.PrefillTokPerS), theme.RolePrefill},
		lossCell(&e.Loss))
}

func lossCell(l *store.Loss) cell {
	n := l.Dropped + l.BadLines + l.Gaps
	if n == 0 {
		return cell{"0", theme.RoleDim}
	}
	return cell{unit.Count(n), theme.RoleWarn}
}

// rate prints a figure per second, "-" before two steps.
func rate(r store.Rates, v float64) string {
	if !r.Known {
		return unit.Unknown
	}
	return unit.Number(v)
}
