package experts

import (
	"fmt"

	"opprof/engine/unit"
)

// Report is a load as opprof experts --json prints it.
type Report struct {
	Schema       int           `json:"schema"`
	Files        []FileReport  `json:"files"`
	Experts      int           `json:"experts"`
	ExpertsFrom  string        `json:"experts_from"` // given, or largest_id: experts above it were never chosen and are not counted
	Layers       int           `json:"layers"`
	TopK         int           `json:"top_k"`
	Arrays       int           `json:"arrays"`
	Tokens       int64         `json:"tokens"`
	ZeroRows     int64         `json:"zero_rows"`     // (token, layer) pairs of nothing but expert 0; not counted unless top_k is 1
	ZeroTokens   int64         `json:"zero_tokens"`   // tokens without any other row
	Unrouted     []int         `json:"zero_layers"`   // layers without any other row: they do not route
	RepeatedRows int64         `json:"repeated_rows"` // pairs that name an expert twice; counted
	OutOfRange   int64         `json:"out_of_range"`  // ids that no expert has; not counted
	Placement    string        `json:"placement"`     // contiguous, round_robin or a file; "" without ranks
	EPRanks      int           `json:"ep_ranks"`      // 0 without
	All          LayerReport   `json:"all_layers"`
	Layer        []LayerReport `json:"by_layer"`
	Warnings     []string      `json:"warnings"`
}

// FileReport is what a file gave.
type FileReport struct {
	Path     string   `json:"path"`
	Arrays   int      `json:"arrays"`
	Tokens   int64    `json:"tokens"`
	Problems []string `json:"problems"`
}

// LayerReport is one layer.
type LayerReport struct {
	Layer  int     `json:"layer"` // -1 for all layers together
	Tokens int64   `json:"tokens"`
	Counts []int64 `json:"counts"` // by expert
	Balance
	EP *Imbalance `json:"ep"` // null without ranks
}

// NewReport sums a load up. placement may be nil.
func NewReport(l *Load, files []FileReport, placement *Placement) Report {
	n, given := l.Experts()
	r := Report{Schema: 1, Files: files, Experts: n, ExpertsFrom: "largest_id", Layers: l.Layers, TopK: l.TopK, Arrays: l.Arrays, Tokens: l.Tokens,
		ZeroTokens: l.ZeroTokens, RepeatedRows: l.RepeatedRows, OutOfRange: l.OutOfRange, Unrouted: []int{}, Layer: []LayerReport{}, Warnings: []string{}}
	if given {
		r.ExpertsFrom = "given"
	}
	if placement != nil {
		r.Placement, r.EPRanks = placement.Name, placement.Ranks
	}
	r.All = LayerReport{Layer: -1, Tokens: l.Tokens, Counts: l.All()}
	ranks := make([]float64, r.EPRanks)
	for i := range l.Counts {
		one := LayerReport{Layer: i, Tokens: l.Rows[i], Counts: l.Layer(i)}
		one.Balance = NewBalance(one.Counts, l.TopK)
		if placement != nil {
			ep := placement.Over(i, one.Counts)
			one.EP = &ep
			for k, v := range ep.Ranks {
				ranks[k] += v
			}
		}
		r.ZeroRows += l.ZeroRows[i]
		if l.Tokens > 0 && l.ZeroRows[i] == l.Tokens {
			r.Unrouted = append(r.Unrouted, i)
		}
		r.Layer = append(r.Layer, one)
	}
	r.All.Balance = NewBalance(r.All.Counts, l.TopK)
	if placement != nil {
		ep := imbalance(ranks)
		r.All.EP = &ep
	}
	r.warn()
	return r
}

func (r *Report) warn() {
	say := func(when bool, format string, args ...any) {
		if when {
			r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
		}
	}
	say(r.ExpertsFrom != "given" && r.Experts > 0, "the number of experts was not given: %d is the largest id plus one, and experts above it would change every figure", r.Experts)
	unwritten := r.ZeroRows - int64(len(r.Unrouted))*r.Tokens
	say(r.TopK > 1 && unwritten > 0, "%s of nothing but expert 0, memory that nobody wrote: not counted", unit.Counted(unwritten, "row"))
	say(r.TopK == 1 && r.ZeroTokens > 0, "%s with expert 0 in every layer, perhaps memory that nobody wrote: counted", unit.Counted(r.ZeroTokens, "token"))
	say(r.TopK > 1 && len(r.Unrouted) > 0, "%s of nothing but zeros: dense, or not returned", unit.Counted(len(r.Unrouted), "layer"))
	say(r.RepeatedRows > 0, "%s with an expert named twice, which no router does: counted", unit.Counted(r.RepeatedRows, "row"))
	say(r.OutOfRange > 0, "%s of no expert: not counted", unit.Counted(r.OutOfRange, "id"))
	say(r.EPRanks > 1, "rank loads are sums over all tokens: a single step is less even")
}
