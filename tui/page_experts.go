package tui

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/traces/experts"
	"opprof/tui/keys"
	"opprof/tui/panel"
)

// expertsPage shows how evenly tokens were routed to experts: a line with a heat row for each layer, the extremes of the selected one, and
// what is wrong with the files.
type expertsPage struct {
	raised

	now  func() time.Time
	live bool

	width, height int
	list          *experts.List // nil before the first answer
	err           error         // why there is no newer one
	same          int           // answers in a row that told nothing new

	given      int // experts of a layer; 0 takes the largest id
	ranks      int // of expert parallelism; 0 is without
	roundRobin bool
	report     *experts.Report // nil until an array was read
	refused    string          // why given does not hold

	pane        expertPane
	layer       int // the selected one
	sort        int
	down        bool
	top         int
	problemsTop int
}

// expertPane is one box of the experts page.
type expertPane int

const (
	paneLayers expertPane = iota
	paneExtremes
	paneProblems
	expertPanes
)

const expertsName = "experts"

// ranksMost is the largest expert-parallel size that the page offers.
const ranksMost = 512

func newExpertsPage(live bool, opt Options) *expertsPage {
	return &expertsPage{now: opt.Now, live: live}
}

func (p *expertsPage) needs() keys.Need {
	if p.live {
		return keys.NeedLive
	}
	return 0
}

func (p *expertsPage) name() string             { return expertsName }
func (p *expertsPage) keys() keys.Context       { return keys.ContextExperts }
func (p *expertsPage) position() panel.Position { return panel.Position{} }

func (p *expertsPage) resize(width, height int) { p.width, p.height = width, height }

func (p *expertsPage) want() want {
	w := want{experts: true}
	switch {
	case p.live:
		w.head = headQuery(p.now())
	case p.list != nil && p.list.Done == p.list.Of && p.same >= settledAfter:
		return want{}
	case p.list == nil:
		w.head = &store.Query{SpanNS: int64(time.Second), Columns: 1}
	}
	return w
}

func (p *expertsPage) take(w want, pic picture) {
	if !w.experts {
		return
	}
	p.err = pic.expertsErr
	if pic.experts == nil {
		return
	}
	p.same++
	if p.list == nil || p.list.Version != pic.experts.Version {
		p.same, p.list = 0, pic.experts
		p.count()
	}
}

// count sums the choices up anew.
func (p *expertsPage) count() {
	p.report, p.refused = nil, ""
	if p.list == nil || p.list.Load == nil {
		return
	}
	load := p.list.Load
	if p.given > 0 {
		given, err := load.Of(p.given)
		if err != nil {
			p.refused = err.Error()
		} else {
			load = given
		}
	}
	r := experts.NewReport(load, p.list.Files, p.placement(load))
	if p.list.Remark != "" {
		r.Warnings = append([]string{p.list.Remark}, r.Warnings...)
	}
	p.report = &r
	p.layer = max(0, min(p.layer, len(r.Layer)-1))
}

// placement is the one that the reader chose; nil without ranks, and where there are fewer experts.
func (p *expertsPage) placement(l *experts.Load) *experts.Placement {
	if p.ranks == 0 {
		return nil
	}
	place := experts.Contiguous
	if p.roundRobin {
		place = experts.RoundRobin
	}
	n, _ := l.Experts()
	out, err := place(n, p.ranks)
	if err != nil {
		return nil
	}
	return &out
}

// layers is the table of layers.
func (p *expertsPage) layers() *panel.ExpertLayers {
	return &panel.ExpertLayers{Report: p.report, Sort: p.sort, Down: p.down, Layer: p.layer, Top: p.top, Focus: p.pane == paneLayers}
}

// problems is the table of what is wrong with the files.
func (p *expertsPage) problems() *panel.Sheet {
	r, problem := &experts.Report{}, p.refused
	if p.report != nil {
		r = p.report
	}
	if p.list != nil {
		problem = joined(p.list.Problem, problem)
		if p.report == nil {
			r.Files = p.list.Files
		}
	}
	if p.err != nil {
		problem = joined(p.err.Error(), problem)
	}
	s := panel.ExpertProblems(r, problem, p.width-4)
	s.Top, s.Focus = p.problemsTop, p.pane == paneProblems
	return s
}

// joined are the sentences that are there.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

func (p *expertsPage) explain() (string, []panel.Definition) {
	return "explain: routed experts", panel.ExpertDefinitions()
}

var errNoExpertTime = errors.New("the experts page has no time axis")

func (p *expertsPage) seek(string) (tea.Cmd, error) { return nil, errNoExpertTime }
func (p *expertsPage) receive(tea.Msg) tea.Cmd      { return nil }

// press acts on a key of the page.
func (p *expertsPage) press(b keys.Binding) tea.Cmd {
	switch b.ID {
	case keys.FocusNext:
		p.pane = (p.pane + 1) % expertPanes
	case keys.FocusPrev:
		p.pane = (p.pane + expertPanes - 1) % expertPanes
	case keys.Back:
		p.pane = paneLayers
	case keys.Sort:
		p.sort = panel.NextExpertSort(p.sort, p.report != nil && p.report.EPRanks > 0)
	case keys.SortTurn:
		p.down = !p.down
	case keys.RanksMore, keys.RanksFewer:
		return p.turnRanks(b.ID == keys.RanksMore)
	case keys.Placement:
		return p.turnPlacement()
	case keys.ExpertCount:
		return p.askCount()
	default:
		p.move(b.ID)
	}
	return nil
}

// turnRanks doubles or halves the ranks; below two there are none.
func (p *expertsPage) turnRanks(more bool) tea.Cmd {
	if p.report == nil {
		return notice("ranks: no routed experts were read")
	}
	most := min(p.report.Experts, ranksMost)
	switch {
	case more && p.ranks == 0 && most >= 2:
		p.ranks = 2
	case more && p.ranks*2 <= most:
		p.ranks *= 2
	case more:
		return notice("ranks: a layer has " + unit.Counted(p.report.Experts, "expert"))
	default:
		p.ranks /= 2
	}
	if p.ranks < 2 {
		p.ranks = 0
	}
	p.count()
	if p.ranks == 0 {
		if p.sort != panel.ExpertByLayer {
			p.sort = panel.NextExpertSort(p.sort-1, false)
		}
		return notice("without ranks")
	}
	return notice(strconv.Itoa(p.ranks) + " expert-parallel ranks, placement " + p.placementName())
}

func (p *expertsPage) placementName() string {
	if p.roundRobin {
		return "round_robin"
	}
	return "contiguous"
}

func (p *expertsPage) turnPlacement() tea.Cmd {
	if p.ranks == 0 {
		return notice("placement: there are no ranks; ] adds them")
	}
	p.roundRobin = !p.roundRobin
	p.count()
	return notice("placement " + p.placementName())
}

// askCount asks how many experts a layer has.
func (p *expertsPage) askCount() tea.Cmd {
	q := &prompt{label: "experts of a layer ", hint: "a number; 0 takes the largest id   enter takes it   esc closes"}
	q.accept = func(text string) (tea.Cmd, error) {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 0 || n > experts.MaxExperts {
			return nil, fmt.Errorf("expected 0 to %d", experts.MaxExperts)
		}
		if n > 0 && p.list != nil && p.list.Load != nil {
			if _, err := p.list.Load.Of(n); err != nil {
				return nil, err
			}
		}
		p.given = n
		p.count()
		return nil, nil
	}
	return p.raise(q)
}

// move moves the cursor of the layers, or scrolls the problems. The extremes have none: their keys move the layer too.
func (p *expertsPage) move(id keys.ID) {
	if p.pane == paneProblems {
		rows := len(p.problems().Rows)
		at, ok := shifted(id, p.problemsTop, rows-1, p.visible(paneProblems))
		if ok {
			p.problemsTop = max(0, min(at, rows-p.visible(paneProblems)))
		}
		return
	}
	if p.report == nil {
		return
	}
	order, row := p.layers().Order(), 0
	for i, layer := range order {
		if layer == p.layer {
			row = i
		}
	}
	if at, ok := shifted(id, row, len(order)-1, p.visible(paneLayers)); ok {
		p.layer = order[at]
	}
}
