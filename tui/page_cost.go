package tui

import (
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"opprof/campaign/calibrate"
	"opprof/engine/store"
	"opprof/tui/keys"
	"opprof/tui/panel"
)

// costPage answers what a step would cost: a question, which follows the live composition at first, the answer with its interval, and what
// it rests on.
type costPage struct {
	raised

	now  func() time.Time
	live bool

	width, height int
	learned       *calibrate.Learned // nil before the first answer
	err           error              // why there is no newer one
	same          int                // answers in a row that told nothing new
	frame         *store.Frame       // the newest steps

	set      int // which number of ranks
	follow   bool
	step     int64 // that the question follows; 0 is none
	question calibrate.Question
	asked    asked
	answer   *calibrate.Answer
	refusal  string

	pane  costPane
	field panel.CostField
	row   int // cursor in the table
	tops  [costPanes]int
	sort  int // column of the table; -1 is its own order
	down  bool
}

// asked is what an answer is of.
type asked struct {
	version  uint64
	set      int
	question calibrate.Question
}

// costPane is one box of the cost page.
type costPane int

const (
	paneQuestion costPane = iota
	paneTable
	paneHeldOut
	paneModel
	costPanes
)

const costName = "cost"

func newCostPage(live bool, opt Options) *costPage {
	return &costPage{now: opt.Now, live: live, follow: true, sort: -1}
}

func (p *costPage) name() string             { return costName }
func (p *costPage) keys() keys.Context       { return keys.ContextCost }
func (p *costPage) position() panel.Position { return panel.Position{} }

func (p *costPage) needs() keys.Need {
	if p.live {
		return keys.NeedLive
	}
	return 0
}

func (p *costPage) resize(width, height int) { p.width, p.height = width, height }

func (p *costPage) want() want {
	w := want{cost: true}
	switch {
	case p.live:
		w.head = headQuery(p.now())
	case p.learned != nil && p.learned.Version > 0 && p.learned.Done == p.learned.Of && p.same >= settledAfter:
		return want{}
	case p.learned == nil:
		w.head = &store.Query{SpanNS: int64(time.Second), Columns: 1}
	}
	return w
}

func (p *costPage) take(w want, pic picture) {
	if w.head != nil && pic.head != nil {
		p.frame = pic.head
	}
	if !w.cost {
		return
	}
	p.err = pic.costErr
	if pic.cost != nil {
		p.same++
		if p.learned == nil || p.learned.Version != pic.cost.Version {
			p.same, p.learned = 0, pic.cost
		}
	}
	p.ask()
}

// calibration is what the chosen servers' windows teach, and its report; nil before any window counts.
func (p *costPage) calibration() (*calibrate.Calibration, *calibrate.SetReport) {
	if p.learned == nil || len(p.learned.Sets) == 0 {
		return nil, nil
	}
	i := min(p.set, len(p.learned.Sets)-1)
	return p.learned.Sets[i], &p.learned.Reports[i]
}

// ask answers the question, when it or what was learned has changed.
func (p *costPage) ask() {
	c, _ := p.calibration()
	if c == nil {
		p.answer = nil
		return
	}
	if p.follow {
		p.followNow(c)
	}
	if p.question.Prefill > 0 && p.question.PrefillRequests == 0 {
		p.question.PrefillRequests = 1
	}
	next := asked{p.learned.Version, p.set, p.question}
	if next == p.asked {
		return
	}
	p.asked, p.answer, p.refusal = next, nil, ""
	err := p.question.Check()
	if err == nil {
		var a calibrate.Answer
		if a, err = c.Ask(p.question); err == nil {
			p.answer = &a
			return
		}
	}
	p.refusal = "no answer: " + err.Error()
}

// followNow makes the question that of the newest step; where none ran, that of the newest step of the windows.
func (p *costPage) followNow(c *calibrate.Calibration) {
	if p.live {
		if q, step, ok := questionNow(p.frame); ok {
			p.question, p.step = q, step
		}
		if p.step > 0 {
			return
		}
	}
	p.question = c.Newest()
}

// questionNow is the composition of the newest step of the engine that ran last; ok is false where it held no token.
func questionNow(f *store.Frame) (q calibrate.Question, step int64, ok bool) {
	if f == nil {
		return q, 0, false
	}
	now := &f.Now
	for i := range f.Engines {
		if e := &f.Engines[i].Now; len(f.Engines) > 1 && e.Known && (i == 0 || e.TimeNS > now.TimeNS) {
			now = e
		}
	}
	context, known := calibrate.MeanContext(now.ContextHist)
	if !now.Known || !known || now.DecodeBatchSize+now.PrefillTokens == 0 {
		return q, 0, false
	}
	q = calibrate.Question{Decode: float64(now.DecodeBatchSize), Prefill: float64(now.PrefillTokens), PrefillRequests: float64(now.PrefillRequests), Context: context}
	if now.Graph != nil {
		q.Graph, q.Bucket = now.Graph.Mode.String(), float64(max(0, now.Graph.BucketTokens))
	}
	return q, now.StepIndex, true
}

func (p *costPage) explain() (string, []panel.Definition) {
	return "explain: cost of a step", panel.CostDefinitions()
}

var errNoCostTime = errors.New("the cost page has no time axis")

func (p *costPage) seek(string) (tea.Cmd, error) { return nil, errNoCostTime }
func (p *costPage) receive(tea.Msg) tea.Cmd      { return nil }
