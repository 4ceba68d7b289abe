package compare

import (
	"cmp"
	"math"
	"slices"
)

// Bounds of what is judged.
const (
	// StepsLeast and BlocksLeast are what a cell needs on either side.
	StepsLeast  = 20
	BlocksLeast = 5
	// UnevenPct is how far the mean tokens of a cell's steps may lie apart: beyond, a difference may come from what the steps held.
	UnevenPct = 10
	// TimeLeast is the share of either run's time that must lie in cells that both have, and OverlapLeast the share of steps that the two mixes
	// have in common; below either, the workloads differ too much to compare. As much time must lie in cells that are judged; where it does
	// not, too little was recorded.
	TimeLeast    = 0.5
	OverlapLeast = 0.3

	alpha = 0.05 // of all intervals
)

// Comparison is two runs set against each other, as opprof compare --json prints it. Times are in nanoseconds.
type Comparison struct {
	Schema      int          `json:"schema"`
	A           Side         `json:"a"`
	B           Side         `json:"b"`
	Differences []Difference `json:"server_differences"` // known of both servers and not the same
	Support     Support      `json:"support"`
	Overall     Overall      `json:"overall"`
	Cells       []CellRow    `json:"cells"`    // those that both have, by their part in the difference, judged ones first; then those of one side
	Families    []FamilyRow  `json:"families"` // kernel time by family, by their part in the difference; empty where not both have windows
	Verdict     Verdict      `json:"verdict"`
}

// Side is one of the two.
type Side struct {
	Name        string   `json:"name"` // as it was called
	ID          string   `json:"id"`
	Path        string   `json:"path"`
	Span        string   `json:"span"` // "" for the whole run
	Engines     int64    `json:"engines"`
	Steps       int64    `json:"steps"` // that are compared
	TotalNS     int64    `json:"total_ns"`
	MeanNS      *float64 `json:"mean_ns"` // of the step period; null without steps
	FirstNS     *int64   `json:"first_ns"`
	LastNS      *int64   `json:"last_ns"`
	Excluded    Excluded `json:"excluded"`
	BlockSteps  int64    `json:"block_steps"` // steps of a block, the independent unit
	Blocks      int      `json:"blocks"`
	Independent bool     `json:"blocks_independent"` // false: neighbouring blocks still move together, and intervals are too narrow
	Windows     []string `json:"windows"`            // profiler windows that tell about kernels
	Problems    []string `json:"problems"`
}

// Support says how far the two mixes of steps agree.
type Support struct {
	Cells    int     `json:"cells"`          // that both have
	Judged   int     `json:"judged_cells"`   // of these, with enough steps on both sides
	Distance float64 `json:"distance"`       // total variation distance of the mixes: 0 the same, 1 nothing in common
	StepsA   float64 `json:"a_steps_shared"` // share of A's steps in cells that both have
	StepsB   float64 `json:"b_steps_shared"`
	TimeA    float64 `json:"a_time_shared"` // share of A's time in cells that both have
	TimeB    float64 `json:"b_time_shared"`
	JudgedA  float64 `json:"a_time_judged"` // of it, in cells that are judged
	JudgedB  float64 `json:"b_time_judged"`
	Uneven   float64 `json:"uneven_weight"` // share of the weights in cells whose steps hold different numbers of tokens inside
}

// Overall is the difference of the step periods as a whole.
type Overall struct {
	Weights      string   `json:"weights"`         // what the cells are weighted by
	WeightSum    float64  `json:"weight_sum"`      // 1; 0 without a common cell
	EqualA       *float64 `json:"a_equal_ns"`      // mean step period at equal composition; null without a common cell
	EqualB       *float64 `json:"b_equal_ns"`      //
	Equal        *Change  `json:"equal"`           // at equal composition; null without a common cell
	Raw          *Change  `json:"raw"`             // of the plain means, without an interval
	RawNS        float64  `json:"raw_ns"`          // mean of B minus mean of A: the sum of the three parts
	SpeedNS      float64  `json:"speed_ns"`        // steps of the same kind take a different time, at the mean of the two mixes
	MixNS        float64  `json:"mix_ns"`          // the mix of the kinds that both have differs
	UnmatchedNS  float64  `json:"unmatched_ns"`    // kinds of steps that only one has
	ExplainedPct *float64 `json:"composition_pct"` // part of the raw difference that the mix and the unmatched kinds make; null without a difference
}

// CellRow is one kind of steps.
type CellRow struct {
	Kind
	StepsA   int64    `json:"a_steps"`
	StepsB   int64    `json:"b_steps"`
	BlocksA  int      `json:"a_blocks"` // independent units that the steps lie in
	BlocksB  int      `json:"b_blocks"`
	MeanA    *float64 `json:"a_mean_ns"` // null without steps
	MeanB    *float64 `json:"b_mean_ns"`
	MedianA  *int64   `json:"a_median_ns"` // within 0.79 %
	MedianB  *int64   `json:"b_median_ns"`
	TokensA  *float64 `json:"a_tokens"` // mean of a step
	TokensB  *float64 `json:"b_tokens"`
	Weight   float64  `json:"weight"`  // in the difference at equal composition
	Change   *Change  `json:"change"`  // of the mean; null where one side has no steps
	PartNS   *float64 `json:"part_ns"` // what it adds to the speed part of the overall difference
	Judged   bool     `json:"judged"`
	Why      string   `json:"why"`   // why it is not judged; "" when it is
	Moved    bool     `json:"moved"` // the difference would stand out among as many cells as are judged (Bonferroni, 5 %)
	Families []Family `json:"families"`
	key      Key
}

// Family is the kernel time of one family in one cell.
type Family struct {
	Family string  `json:"family"`
	StepsA int64   `json:"a_steps"` // of profiler windows
	StepsB int64   `json:"b_steps"`
	MeanA  float64 `json:"a_mean_ns"` // on the rank with the most work, without its waiting in collectives
	MeanB  float64 `json:"b_mean_ns"`
}

// FamilyRow is the kernel time of one family over the cells that the windows of both runs have.
type FamilyRow struct {
	Family   string  `json:"family"`
	Cells    int     `json:"cells"`
	StepsA   int64   `json:"a_steps"`
	StepsB   int64   `json:"b_steps"`
	WindowsA int     `json:"a_windows"`
	WindowsB int     `json:"b_windows"`
	EqualA   float64 `json:"a_equal_ns"` // mean of a step at equal composition, on the rank with the most work, without its waiting in collectives
	EqualB   float64 `json:"b_equal_ns"`
	Change   *Change `json:"change"` // null where one side has no such work; the unit of its interval is the window
	PartNS   float64 `json:"part_ns"`
}

// pair is a cell with its two sides; nil where one has no step of that kind.
type pair struct {
	key    Key
	a, b   *cell
	ea, eb estimate
}

// Compare sets B against A.
func Compare(a, b *Reading) *Comparison {
	m := newMatch(a.steps, b.steps)
	c := &Comparison{Schema: 1, A: m.side(a, m.levelA, m.okA), B: m.side(b, m.levelB, m.okB), Differences: differences(a, b)}
	c.Support, c.Overall = m.support(), m.overall()
	c.Cells = m.rows()
	fams := newFamilies(a, b)
	fams.into(c.Cells)
	c.Families = fams.rows()
	c.Support.addTimes(c.Cells, a.steps.sum, b.steps.sum)
	c.Verdict = c.judge()
	return c
}

// match is the cells of two tallies, side by side.
type match struct {
	a, b           *tally
	levelA, levelB uint // by how much blocks are merged
	okA, okB       bool // neighbouring blocks are independent then
	pairs          []pair
	overlap        float64 // sum of the smaller shares: 1 minus the distance
}

func newMatch(a, b *tally) *match {
	m := &match{a: a, b: b}
	m.levelA, m.okA = independent(a.deviations)
	m.levelB, m.okB = independent(b.deviations)
	for k, c := range a.cells {
		m.pairs = append(m.pairs, pair{key: k, a: c, b: b.cells[k]})
	}
	for k, c := range b.cells {
		if a.cells[k] == nil {
			m.pairs = append(m.pairs, pair{key: k, b: c})
		}
	}
	slices.SortFunc(m.pairs, func(x, y pair) int { return compareKeys(x.key, y.key) })
	for i := range m.pairs {
		p := &m.pairs[i]
		if p.a != nil {
			p.ea = p.a.estimate()
		}
		if p.b != nil {
			p.eb = p.b.estimate()
		}
		m.overlap += m.common(p)
	}
	return m
}

// common is the share of steps of this kind that both mixes have.
func (m *match) common(p *pair) float64 { return min(m.a.share(p.a), m.b.share(p.b)) }

// weight is that of a cell in the difference at equal composition.
func (m *match) weight(p *pair) float64 {
	if m.overlap == 0 {
		return 0
	}
	return m.common(p) / m.overlap
}

func (m *match) support() Support {
	s := Support{Distance: max(0, 1-m.overlap)}
	for i := range m.pairs {
		if p := &m.pairs[i]; p.a != nil && p.b != nil {
			s.Cells++
			s.StepsA += m.a.share(p.a)
			s.StepsB += m.b.share(p.b)
		}
	}
	return s
}

// addTimes adds what the rows say about the time of either run.
func (s *Support) addTimes(rows []CellRow, totalA, totalB int64) {
	for i := range rows {
		r := &rows[i]
		if r.PartNS == nil {
			continue
		}
		timeA, timeB := float64(r.StepsA)**r.MeanA/float64(max(totalA, 1)), float64(r.StepsB)**r.MeanB/float64(max(totalB, 1))
		s.TimeA, s.TimeB = s.TimeA+timeA, s.TimeB+timeB
		switch {
		case r.Judged:
			s.Judged++
			s.JudgedA, s.JudgedB = s.JudgedA+timeA, s.JudgedB+timeB
		case r.uneven():
			s.Uneven += r.Weight
		}
	}
}

const weights = "the smaller of the two shares of steps that a cell has, scaled to sum to 1"

func (m *match) overall() Overall {
	o := Overall{Weights: weights}
	var cellsA, cellsB []*cell
	var w []float64
	middle := (m.a.mean() + m.b.mean()) / 2
	for i := range m.pairs {
		p := &m.pairs[i]
		shareA, shareB := m.a.share(p.a), m.b.share(p.b)
		switch {
		case p.a == nil:
			o.UnmatchedNS += shareB * (p.eb.mean - middle)
		case p.b == nil:
			o.UnmatchedNS -= shareA * (p.ea.mean - middle)
		default:
			o.MixNS += (shareB - shareA) * ((p.ea.mean+p.eb.mean)/2 - middle)
			o.SpeedNS += m.part(p)
			cellsA, cellsB, w = append(cellsA, p.a), append(cellsB, p.b), append(w, m.weight(p))
			o.WeightSum += m.weight(p)
		}
	}
	if m.a.n > 0 && m.b.n > 0 {
		o.RawNS = m.b.mean() - m.a.mean()
		o.Raw = change(estimate{mean: m.a.mean(), variance: math.Inf(1)}, estimate{mean: m.b.mean(), variance: math.Inf(1)}, alpha)
	}
	if o.RawNS != 0 {
		part := 100 * (o.MixNS + o.UnmatchedNS) / o.RawNS
		o.ExplainedPct = &part
	}
	if len(w) > 0 {
		a, b := weigh(m.a, cellsA, w, m.levelA), weigh(m.b, cellsB, w, m.levelB)
		o.EqualA, o.EqualB, o.Equal = &a.mean, &b.mean, change(a, b, alpha)
	}
	return o
}

// part is what a cell's difference adds to the difference of the means, at the mean of the two mixes.
func (m *match) part(p *pair) float64 {
	return (m.a.share(p.a) + m.b.share(p.b)) / 2 * (p.eb.mean - p.ea.mean)
}

// rows are the cells, those that moved the time most first.
func (m *match) rows() []CellRow {
	out := make([]CellRow, 0, len(m.pairs))
	judged := 0
	for i := range m.pairs {
		r := m.row(&m.pairs[i])
		if r.Judged {
			judged++
		}
		out = append(out, r)
	}
	for i := range out {
		if p := &m.pairs[i]; out[i].Judged {
			out[i].Moved = change(p.ea, p.eb, alpha/float64(judged)).excludesZero()
		}
	}
	slices.SortStableFunc(out, func(x, y CellRow) int {
		return cmp.Or(cmp.Compare(x.rank(), y.rank()), -cmp.Compare(x.size(), y.size()), compareKeys(x.key, y.key))
	})
	return out
}

func (m *match) row(p *pair) CellRow {
	r := CellRow{Kind: p.key.Kind(), key: p.key, Weight: m.weight(p), Families: []Family{}}
	if p.a != nil {
		mean, median, tokens := p.ea.mean, p.a.median(), ratio(p.a.tokens, p.a.n)
		r.StepsA, r.BlocksA, r.MeanA, r.MedianA, r.TokensA = p.a.n, p.ea.blocks, &mean, &median, &tokens
	}
	if p.b != nil {
		mean, median, tokens := p.eb.mean, p.b.median(), ratio(p.b.tokens, p.b.n)
		r.StepsB, r.BlocksB, r.MeanB, r.MedianB, r.TokensB = p.b.n, p.eb.blocks, &mean, &median, &tokens
	}
	if p.a != nil && p.b != nil {
		part := m.part(p)
		r.PartNS, r.Change = &part, change(p.ea, p.eb, alpha)
	}
	r.Why = r.whyNot(p)
	r.Judged = r.Why == ""
	return r
}

// Reasons why a cell is not judged.
const (
	whyOnlyA  = "only A has such steps"
	whyOnlyB  = "only B has such steps"
	whyFew    = "too few steps"
	whyBlocks = "its steps lie in too few blocks"
	whyUneven = "its steps hold different numbers of tokens"
	whyClock  = "its steps took no time"
)

func (r *CellRow) whyNot(p *pair) string {
	switch {
	case p.b == nil:
		return whyOnlyA
	case p.a == nil:
		return whyOnlyB
	case min(r.StepsA, r.StepsB) < StepsLeast:
		return whyFew
	case min(p.ea.blocks, p.eb.blocks) < BlocksLeast:
		return whyBlocks
	case max(*r.TokensA, *r.TokensB) > (1+UnevenPct/100.0)*min(*r.TokensA, *r.TokensB):
		return whyUneven
	case r.Change == nil || r.Change.Low == nil:
		return whyClock
	}
	return ""
}

func (r *CellRow) uneven() bool { return r.Why == whyUneven }

// rank sorts judged cells before others that both have, and those before the cells of one side.
func (r *CellRow) rank() int {
	switch {
	case r.Judged:
		return 0
	case r.PartNS != nil:
		return 1
	}
	return 2
}

// size is what a cell is sorted by: its part, or for cells of one side their time.
func (r *CellRow) size() float64 {
	switch {
	case r.PartNS != nil:
		return math.Abs(*r.PartNS)
	case r.MeanA != nil:
		return float64(r.StepsA) * *r.MeanA
	case r.MeanB != nil:
		return float64(r.StepsB) * *r.MeanB
	}
	return 0
}
