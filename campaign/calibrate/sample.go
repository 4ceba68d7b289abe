package calibrate

import (
	"fmt"

	"opprof/engine/record"
	"opprof/engine/unit"
	"opprof/traces/family"
	"opprof/traces/join"
	"opprof/traces/rank"
)

// Composition is what a step holds, as far as its kernels' time depends on it.
type Composition struct {
	Decode        float64 // requests in decode
	Prefill       float64 // prompt tokens that the step processes
	Tokens        float64 // all tokens, recomputed ones too
	Context       float64 // total context length of all requests, in tokens: known to the width of its histogram's bins
	Requests      float64
	Graph         string  // CUDA-graph mode
	Bucket        float64 // tokens that the kernels ran for, padding included; Tokens where no graph ran
	ContextMedian int     // bin of the median context length; -1 when not known
}

// Work are the tokens that the kernels ran for.
func (c *Composition) Work() float64 { return max(c.Bucket, c.Tokens) }

// MeanContext is the mean context length of a request.
func (c *Composition) MeanContext() float64 {
	if c.Requests == 0 {
		return 0
	}
	return c.Context / c.Requests
}

// Sample is one step of a window.
type Sample struct {
	Window int // from 0, over all runs
	Step   int64
	Composition
	// FamilyNS are the unions of the families on the rank with the most work, its collectives without the time that it waited in them for a rank
	// that was launched later.
	FamilyNS [family.Count]float64
	BusyNS   float64 // that rank's busy time, without that waiting
	SumNS    float64 // work of all ranks: sums, not unions
}

// Set are the samples of servers of one number of ranks.
type Set struct {
	Ranks   int
	Windows []string // names
	Samples []Sample
}

// LeftOut says which windows and steps teach nothing, and why.
type LeftOut struct {
	Windows []string `json:"windows"` // sentences
	WarmUp  int      `json:"warm_up_steps"`
	Damaged int      `json:"damaged_steps"`
	Unknown int      `json:"steps_without_composition"`
}

// Named is a window with a name for messages and tables.
type Named struct {
	Name string
	join.Window
}

// Samples takes the steps of the windows that are tied to Layer-1 records, those of the warm-up left out, and parts them by the number of
// ranks: servers of two sizes have nothing to teach each other.
func Samples(windows []Named) ([]Set, LeftOut) {
	var sets []Set
	out := LeftOut{Windows: []string{}}
	for i := range windows {
		w := &windows[i]
		if why := unfit(w); why != "" {
			out.Windows = append(out.Windows, w.Name+": "+why)
			continue
		}
		samples := out.steps(w)
		if len(samples) == 0 {
			out.Windows = append(out.Windows, w.Name+": no step that counts")
			continue
		}
		set := setOf(&sets, len(w.Ranks))
		for k := range samples {
			samples[k].Window = len(set.Windows)
		}
		set.Windows = append(set.Windows, w.Name)
		set.Samples = append(set.Samples, samples...)
	}
	return sets, out
}

func setOf(sets *[]Set, ranks int) *Set {
	for i := range *sets {
		if (*sets)[i].Ranks == ranks {
			return &(*sets)[i]
		}
	}
	*sets = append(*sets, Set{Ranks: ranks})
	return &(*sets)[len(*sets)-1]
}

func unfit(w *Named) string {
	switch {
	case w.Join.Method == "":
		return "not tied to steps: " + w.Join.Reason
	case len(w.Missing) > 0:
		return fmt.Sprintf("%s %s missing", unit.Counted(len(w.Missing), "rank"), unit.Verb(len(w.Missing), "is", "are"))
	case w.Window.Mode() == rank.ModeCPU:
		return "no device work"
	}
	return ""
}

func (o *LeftOut) steps(w *Named) []Sample {
	var out []Sample
	for i := range w.Iterations {
		it := &w.Iterations[i]
		switch {
		case it.Warmup:
			o.WarmUp++
		case !whole(it) || it.CriticalNS <= 0 || it.Step == nil:
			o.Damaged++
		case it.Step.Graph == "" || it.Step.DecodeTokens+it.Step.PrefillTokens == 0:
			o.Unknown++
		default:
			out = append(out, sample(it))
		}
	}
	return out
}

func whole(it *join.Iteration) bool {
	for _, r := range it.Ranks {
		if r == nil {
			return false
		}
	}
	return len(it.Ranks) > 0
}

func sample(it *join.Iteration) Sample {
	s := Sample{Step: it.Step.Index, Composition: composition(it.Step)}
	slowest := it.Ranks[it.Slowest]
	for f := range family.Count {
		s.FamilyNS[f] = float64(slowest.Families[f].UnionNS)
	}
	waited := waiting(it)
	s.FamilyNS[family.Collective] -= waited
	s.BusyNS = float64(slowest.Total.UnionNS) - waited
	for _, r := range it.Ranks {
		s.SumNS += float64(r.Total.SumNS)
	}
	return s
}

// waiting is how long the rank with the most work waited in collectives, 0 where that is unknown. Ranks with as much work as each other are
// told apart by chance, and the one that its host launches first spins for the other.
func waiting(it *join.Iteration) float64 {
	if it.Slowest >= len(it.Waits) || it.Waits[it.Slowest] < 0 {
		return 0
	}
	return float64(min(it.Waits[it.Slowest], it.Ranks[it.Slowest].Families[family.Collective].UnionNS))
}

func composition(s *join.Step) Composition {
	c := Composition{Decode: float64(s.DecodeRequests), Prefill: float64(s.PrefillTokens), Tokens: float64(s.PrefillTokens + s.DecodeTokens), Graph: s.Graph, ContextMedian: -1}
	c.Bucket = c.Tokens
	if s.Graph != record.GraphNone.String() {
		c.Bucket = float64(s.BucketTokens)
	}
	for bin, n := range s.ContextHist {
		c.Requests += float64(n)
		c.Context += float64(n) * middle(bin)
	}
	var below float64
	for bin, n := range s.ContextHist {
		if below += float64(n); below > 0 && below >= c.Requests/2 {
			c.ContextMedian = bin
			break
		}
	}
	return c
}

// middle stands for the context lengths of a bin. The last bin is open; its lower edge is all that is known.
func middle(bin int) float64 {
	edges := record.ContextEdges()
	switch {
	case bin == 0:
		return float64(edges[0]) / 2
	case bin == len(edges):
		return float64(edges[bin-1])
	}
	return float64(edges[bin-1]+edges[bin]) / 2
}

// contextBin is the bin of a context length.
func contextBin(tokens float64) int {
	for i, edge := range record.ContextEdges() {
		if tokens <= float64(edge) {
			return i
		}
	}
	return record.ContextBins - 1
}
