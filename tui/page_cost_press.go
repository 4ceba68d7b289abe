package tui

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"opprof/campaign/calibrate"
	"opprof/engine/unit"
	"opprof/tui/keys"
	"opprof/tui/panel"
)

// press acts on a key of the page.
func (p *costPage) press(b keys.Binding) tea.Cmd {
	switch b.ID {
	case keys.FocusNext:
		p.pane = (p.pane + 1) % costPanes
	case keys.FocusPrev:
		p.pane = (p.pane + costPanes - 1) % costPanes
	case keys.Back:
		p.pane = paneQuestion
	case keys.Sort:
		p.sort, p.pane = panel.NextCostSort(p.sort), paneTable
	case keys.SortTurn:
		p.down, p.pane = !p.down, paneTable
	case keys.RankPrev:
		return p.turnSet(-1)
	case keys.RankNext:
		return p.turnSet(1)
	case keys.Ask:
		return p.askText()
	case keys.Now:
		return p.asNow()
	case keys.Accept:
		return p.accept()
	case keys.Less:
		p.change(-1)
	case keys.More:
		p.change(1)
	default:
		p.move(b.ID)
	}
	return nil
}

// turnSet goes to the windows of servers of another number of ranks.
func (p *costPage) turnSet(by int) tea.Cmd {
	if p.learned == nil || len(p.learned.Sets) < 2 {
		return notice("all windows are of servers of the same number of ranks")
	}
	n := len(p.learned.Sets)
	p.set = (min(p.set, n-1) + by + n) % n
	p.row = 0
	p.ask()
	return notice("servers of " + unit.Counted(p.learned.Reports[p.set].Ranks, "rank"))
}

// asNow lets the question follow the newest step again.
func (p *costPage) asNow() tea.Cmd {
	p.follow = true
	p.ask()
	if p.live {
		return notice("the question follows the newest step")
	}
	return notice("the newest step of the windows")
}

// own takes a question that the reader made.
func (p *costPage) own(q calibrate.Question) {
	p.follow, p.question = false, q
	p.ask()
}

// askText asks for a whole question in a line.
func (p *costPage) askText() tea.Cmd {
	q := &prompt{label: "a step with ", hint: "decode=48,context=8192   also prefill, prefill_requests, graph, bucket   esc closes"}
	q.accept = func(text string) (tea.Cmd, error) {
		question, err := calibrate.ParseQuestion(text)
		if err != nil {
			return nil, err
		}
		p.own(question)
		return nil, nil
	}
	return p.raise(q)
}

// accept types the selected field, or asks for the steps of the selected row.
func (p *costPage) accept() tea.Cmd {
	c, r := p.calibration()
	switch {
	case c == nil:
		return nil
	case p.pane == paneTable && len(r.Table) > 0:
		p.own(c.Typical(&r.Table[panel.CostRows(r, p.sort, p.down)[min(p.row, len(r.Table)-1)]]))
		p.pane = paneQuestion
		return nil
	case p.pane != paneQuestion:
		return nil
	case p.field == panel.CostGraph:
		p.change(1)
		return nil
	}
	field := p.field
	q := &prompt{label: field.Name() + " ", hint: "a number   enter takes it   esc closes"}
	if field == panel.CostBucket {
		q.hint = "tokens, padding included; 0 takes the smallest that was seen   esc closes"
	}
	q.accept = func(text string) (tea.Cmd, error) {
		v, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(text), ",", ""), 64)
		if err != nil || !(v >= 0 && v <= costMost) {
			return nil, fmt.Errorf("expected a number from 0 to %.0e", costMost)
		}
		next := p.question
		*costValue(&next, field) = v
		p.own(next)
		return nil, nil
	}
	return p.raise(q)
}

// costMost is the largest figure of a question, as calibrate.ParseQuestion has it.
const costMost = 1e9

// costValue is the place of a figure in a question.
func costValue(q *calibrate.Question, f panel.CostField) *float64 {
	switch f {
	case panel.CostDecode:
		return &q.Decode
	case panel.CostPrefill:
		return &q.Prefill
	case panel.CostPrefillRequests:
		return &q.PrefillRequests
	case panel.CostContext:
		return &q.Context
	}
	return &q.Bucket
}

// change moves the selected figure by an eighth, or takes another of the choices that were seen.
func (p *costPage) change(by int) {
	c, _ := p.calibration()
	if c == nil {
		return
	}
	p.pane = paneQuestion
	q := p.question
	switch p.field {
	case panel.CostGraph:
		q.Graph, q.Bucket = turned(append([]string{""}, c.Modes()...), q.Graph, by), 0
	case panel.CostBucket:
		mode := q.Graph
		if mode == "" && p.answer != nil {
			mode = p.answer.Graph
		}
		q.Bucket = turned(append([]float64{0}, c.Buckets(mode)...), q.Bucket, by)
	default:
		v := costValue(&q, p.field)
		*v = max(0, min(nextFigure(*v, by), costMost))
		q.Bucket = 0 // that of another number of tokens
		if p.field == panel.CostPrefill && *v == 0 {
			q.PrefillRequests = 0
		}
	}
	p.own(q)
}

// turned is the choice before or behind another.
func turned[T comparable](list []T, at T, by int) T {
	i := max(0, slices.Index(list, at))
	return list[(i+by+len(list))%len(list)]
}

// nextFigure is the round figure before or behind v: steps of one up to 16, then of an eighth of the power of two below.
func nextFigure(v float64, by int) float64 {
	if by < 0 {
		v = math.Nextafter(v, 0) // of a power of two, the step below it
	}
	step := 1.0
	if v >= 16 {
		_, exp := math.Frexp(v)
		step = math.Ldexp(1, exp-4)
	}
	if by < 0 {
		return math.Floor(v/step) * step
	}
	return (math.Floor(v/step) + 1) * step
}

// move moves the cursor of the pane that has one, or scrolls.
func (p *costPage) move(id keys.ID) {
	_, r := p.calibration()
	if r == nil {
		return
	}
	visible := p.visible(p.pane)
	switch p.pane {
	case paneQuestion:
		at, _ := shifted(id, int(p.field), int(panel.CostFields)-1, visible)
		p.field = panel.CostField(at)
	case paneTable:
		p.row, _ = shifted(id, min(p.row, len(r.Table)-1), len(r.Table)-1, visible)
	default:
		rows := len(p.sheet(p.pane).Rows)
		at, _ := shifted(id, p.tops[p.pane], rows-1, visible)
		p.tops[p.pane] = max(0, min(at, rows-visible))
	}
}
