package tui

import (
	"strconv"
	"unicode/utf8"

	"opprof/engine/control"
	"opprof/engine/query"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

const (
	formWidth  = 92
	formNames  = 9 // width of the names of fields and facts
	formHelp   = 6 // lines of field help at best
	formUsual  = 20
	figureWide = 14
)

func (f *armForm) draw(g *chart.Grid) {
	w := min(formWidth, g.W()-2)
	says := f.says(w - 4 - formNames)
	help := f.help()
	top := 1 + len(f.names())
	h := top + len(says) + len(help) + 2
	if len(help) > 0 {
		h++
	}
	if over := h - g.H(); over > 0 { // help goes first, then facts
		drop := min(over, len(help))
		help = help[:len(help)-drop]
		says = says[:max(1, len(says)-max(0, over-drop-1))]
		h = g.H()
	}
	right := ""
	if f.sent {
		right = "asking the supervisor"
	}
	inside := dialogBox(g, w, h, formUsual, "arm profiler windows", right)
	if inside == nil {
		return
	}
	f.drawKinds(inside.Row(0))
	for i, name := range f.names() {
		f.drawField(inside.Row(1+i), name, f.focus == i+1)
	}
	y := top
	for _, l := range says {
		inside.Spans(0, y, inside.W(), l...)
		y++
	}
	if len(help) > 0 {
		y++
	}
	drawFieldHelp(inside, y, help)
}

// drawKinds draws the choice of the kind; where all have no room, the chosen one alone.
func (f *armForm) drawKinds(g *chart.Grid) {
	g.Text(0, 0, formNames, "start", theme.RoleDim)
	if f.focus == 0 {
		g.Set(formNames-1, 0, g.Glyphs.Play, theme.RoleKey)
	}
	all := 0
	for _, k := range armKinds() {
		all += utf8.RuneCountInString(k.name) + 3
	}
	x := formNames
	for i, k := range armKinds() {
		if i != f.kind && formNames+all > g.W() {
			continue
		}
		role, attr := theme.RoleDim, theme.Attr(0)
		if i == f.kind {
			role, attr = theme.RoleText, theme.Bold
			if f.focus == 0 {
				role, attr = theme.RoleSelected, theme.Bold|theme.Reverse
			}
		}
		text := " " + k.name + " "
		if i == f.kind {
			text = "[" + k.name + "]"
		}
		x += g.TextAttr(x, 0, g.W()-x, text, role, attr) + 1
	}
}

func (f *armForm) drawField(g *chart.Grid, name armField, focus bool) {
	role := theme.RoleDim
	if focus {
		role = theme.RoleKey
		g.Set(formNames-1, 0, g.Glyphs.Play, theme.RoleKey)
	}
	g.Text(0, 0, formNames, string(name), role)
	w := figureWide
	if name == fieldExpr {
		w = g.W() - formNames
	}
	f.fields[name].draw(g, formNames, 0, w, focus)
	if behind := f.behind(name); behind != "" {
		x := formNames + w + 2
		g.Text(x, 0, g.W()-x, behind, theme.RoleDim)
	}
}

// behind is what stands behind a field: its unit, and what it comes to.
func (f *armForm) behind(name armField) string {
	switch name {
	case fieldStep:
		if s := f.stand(); s != nil && s.Newest() > 0 {
			return "the newest is " + unit.Count(s.Newest())
		}
		return "step index"
	case fieldEvery:
		return "steps, at least 20"
	case fieldAfter:
		return "30s, 1m30s, 2h"
	case fieldFor:
		return "steps in a row"
	case fieldCount:
		return "windows, one after the other, at most " + strconv.Itoa(control.MaxCount)
	}
	return ""
}

// says are the lines below the fields: what is wrong or what will happen, and what it costs.
func (f *armForm) says(w int) []dialogLine {
	t, count, err := f.trigger()
	var lines []dialogLine
	say := func(name, text string, role theme.Role) {
		for i, l := range wrap(text, max(8, w)) {
			if i > 0 {
				name = ""
			}
			lines = append(lines, dialogLine{{S: pad(name, formNames), Role: theme.RoleDim}, {S: l, Role: role}})
		}
	}
	switch {
	case f.wrong != "":
		say("refused", f.wrong, theme.RoleBad)
	case err != nil && t.Kind == control.TriggerExpr && t.Expr == "":
		say("", "for example decode_batch_size >= 32 && prefill_tokens == 0", theme.RoleDim)
	case err != nil:
		say("not yet", err.Error(), theme.RoleBad)
	default:
		text, role := f.means(t, count)
		say("means", text, role)
	}
	if s := f.stand(); s != nil {
		f.cost(s, int64(count), say)
	}
	return lines
}

// means says when the windows would start.
func (f *armForm) means(t control.Trigger, count int) (string, theme.Role) {
	s := f.stand()
	if s == nil {
		return panel.TriggerText(t), theme.RoleText
	}
	w := control.Window{Trigger: t, ArmedNS: s.NowNS}
	switch t.Kind {
	case control.TriggerExpr:
		return f.holds(t)
	case control.TriggerAfter:
		return "at " + unit.ClockSeconds(s.NowNS+t.AfterNS, f.zone), theme.RoleText
	case control.TriggerEvery:
		w.FromStep = s.Newest() + t.Every
		last := s.Newest() + t.Every*int64(count)
		if s.Newest() == 0 {
			return "counted from the first step", theme.RoleText
		}
		text := "first at step " + unit.Count(w.FromStep) + ", " + s.Countdown(&w)
		if count > 1 {
			text += "; last at step " + unit.Count(last)
		}
		return text, theme.RoleText
	}
	return s.Countdown(&w), theme.RoleText
}

// holds says whether the expression holds now.
func (f *armForm) holds(t control.Trigger) (string, theme.Role) {
	frame := f.newest()
	answer, why := holdsNow(t.Expr, frame)
	at := ""
	if frame != nil && frame.Now.Known {
		at = " at step " + unit.Count(frame.Now.StepIndex)
	}
	switch answer {
	case query.Yes:
		return "holds now" + at, theme.RoleGood
	case query.No:
		return "does not hold now" + at, theme.RoleText
	}
	return "not known now: " + why, theme.RoleWarn
}

// cost says what the windows take, and how late a trigger is.
func (f *armForm) cost(s *panel.Supervised, count int64, say func(name, text string, role theme.Role)) {
	c := s.Cost
	ranks := "its ranks are not known yet"
	if c.Ranks > 0 {
		ranks = strconv.Itoa(c.Ranks) + " ranks"
		if c.Ranks == 1 {
			ranks = "1 rank"
		}
	}
	stall := "holds serving up for tenths of a second; no window has been yet to tell"
	records := unit.Counted(c.Steps, "step")
	if s.Server.Watched {
		records, stall = "what its own settings say, to be stopped after "+records, "unknown: its profiler's settings are somebody else's, and stacks or gzip hold serving up for seconds; a torch schedule records one window only"
	}
	say("records", records+", a trace of each rank: "+ranks, theme.RoleText)
	if c.StallNS != nil {
		stall = "holds serving up; the last window for " + unit.Duration(*c.StallNS)
		if count > 1 {
			stall += ", " + unit.Count(count) + " for about " + unit.Duration(*c.StallNS*count)
		}
	}
	say("export", stall, theme.RoleText)
	need, role := c.NeedBytes*count, theme.RoleText
	disk := "needs about " + unit.Bytes(need)
	switch {
	case c.FreeBytes == nil:
		disk += "; how much is free is not known"
	default:
		disk += " of " + unit.Bytes(*c.FreeBytes) + " free"
		if *c.FreeBytes < need {
			role = theme.RoleBad
		}
	}
	say("disk", disk, role)
	say("lag", "a trigger sees a step up to "+unit.Duration(c.LagNS)+" after it completed: the window starts some steps later", theme.RoleText)
	if n := len(s.Armed()); n > 0 {
		say("queue", unit.Counted(n, "window")+" "+unit.Verb(n, "is", "are")+" armed before", theme.RoleText)
	}
}

// help are the fields that may be meant, while an expression is typed.
func (f *armForm) help() []query.Field {
	x := f.field()
	if x == nil || x != f.fields[fieldExpr] {
		return nil
	}
	list := fieldHelp(x.word())
	return list[:min(len(list), formHelp)]
}

func drawFieldHelp(g *chart.Grid, y int, list []query.Field) {
	const names, units = 24, 10
	for _, fd := range list {
		g.Text(0, y, names-1, fd.Name, theme.RoleKey)
		g.Text(names, y, units, fd.Unit, theme.RoleAccent)
		text := fd.Text
		if fd.May {
			text += "; may be unknown"
		}
		g.Text(names+units, y, g.W()-names-units, text, theme.RoleDim)
		y++
	}
}
