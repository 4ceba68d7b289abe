package calibrate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"opprof/campaign/stat"
	"opprof/engine/record"
	"opprof/engine/unit"
	"opprof/traces/family"
)

// Cell names the steps that a row of the table holds.
type Cell struct {
	Graph   string `json:"graph_mode"`
	Bucket  int64  `json:"bucket_tokens"` // 0 where no graph ran
	Decode  string `json:"decode"`        // requests
	Prefill string `json:"prefill"`       // tokens
	Context string `json:"context"`       // bin of the median context length, in tokens; "-" when not known
	order   [placeOfContext + 1]int
}

// placeOfContext is where the bin of the context stands in the order of a cell, behind its bucket and the bins of decode and prefill.
const placeOfContext = 3

// Row is what the steps of a cell took.
type Row struct {
	Cell
	Steps    int                `json:"steps"`
	Windows  int                `json:"windows"`
	FamilyNS map[string]float64 `json:"family_ns"` // mean
	BusyNS   float64            `json:"busy_ns"`   // mean, as all that follow
	BusyMin  float64            `json:"busy_min_ns"`
	BusyMax  float64            `json:"busy_max_ns"`
	SumNS    float64            `json:"sum_of_ranks_ns"`
}

// cellOf is the cell of a step.
func cellOf(c *Composition) Cell {
	out := Cell{Graph: c.Graph, Context: "-"}
	if c.Graph != record.GraphNone.String() {
		out.Bucket = int64(c.Bucket)
	}
	var d, p int
	d, out.Decode = binOf(c.Decode, 2)
	p, out.Prefill = binOf(c.Prefill, 4)
	if c.ContextMedian >= 0 {
		edges := record.ContextEdges()
		out.Context = unit.Edges(edges[:])[c.ContextMedian]
	}
	out.order = [placeOfContext + 1]int{int(out.Bucket), d, p, c.ContextMedian}
	return out
}

// binOf is the bin of a count, its upper edge a power of base: 0, 1, 2 to base, and so on.
func binOf(v, base float64) (int, string) {
	if v < 1 {
		return 0, "0"
	}
	if v <= 1 {
		return 1, "1"
	}
	bin, low, high := 2, 1.0, base
	for v > high {
		bin, low, high = bin+1, high, high*base
	}
	if low+1 == high {
		return bin, fmt.Sprint(high)
	}
	return bin, fmt.Sprintf("%.0f-%.0f", low+1, high)
}

// NewTable tabulates samples by cell: by graph mode, bucket, decode batch, prefill tokens and context.
func NewTable(samples []Sample) []Row {
	cells := map[Cell][]*Sample{}
	for i := range samples {
		c := cellOf(&samples[i].Composition)
		cells[c] = append(cells[c], &samples[i])
	}
	var out []Row
	for cell, in := range cells {
		out = append(out, newRow(cell, in))
	}
	slices.SortFunc(out, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Graph, b.Graph), slices.Compare(a.order[:], b.order[:]))
	})
	return out
}

func newRow(cell Cell, in []*Sample) Row {
	r := Row{Cell: cell, Steps: len(in), FamilyNS: map[string]float64{}, BusyMin: math.Inf(1)}
	windows := map[int]bool{}
	n := float64(len(in))
	for _, s := range in {
		windows[s.Window] = true
		r.BusyNS += s.BusyNS / n
		r.SumNS += s.SumNS / n
		r.BusyMin, r.BusyMax = min(r.BusyMin, s.BusyNS), max(r.BusyMax, s.BusyNS)
		for f := range family.Count {
			r.FamilyNS[f.String()] += s.FamilyNS[f] / n
		}
	}
	r.Windows = len(windows)
	return r
}

// TableErrors are how far the table is off on held-out windows: the busy time of each window's steps against the mean of the same cell in the
// other windows. Steps of cells that no other window has are not told by the table; missing counts them.
func TableErrors(set *Set) (errors []WindowError, missing int) {
	for w, name := range set.Windows {
		rest := map[Cell][]float64{}
		for i := range set.Samples {
			if s := &set.Samples[i]; s.Window != w {
				rest[cellOf(&s.Composition)] = append(rest[cellOf(&s.Composition)], s.BusyNS)
			}
		}
		var held []Sample
		for i := range set.Samples {
			s := &set.Samples[i]
			switch {
			case s.Window != w:
			case len(rest[cellOf(&s.Composition)]) == 0:
				missing++
			default:
				held = append(held, *s)
			}
		}
		e, ok := windowError(held, func(s *Sample) float64 { return s.BusyNS }, func(s *Sample) float64 { return stat.Mean(rest[cellOf(&s.Composition)]) })
		if ok {
			e.Window, e.Inside = name, true
			errors = append(errors, e)
		}
	}
	return errors, missing
}
