package alert

import (
	"cmp"
	"fmt"
	"slices"

	"opprof/engine/store"
	"opprof/engine/unit"
)

// Warning is one rule that was broken at one engine, however often.
type Warning struct {
	Rule    Rule    `json:"rule"`     // stall, blocked, dropped, kv_full, thrash, graph_misses, padding, bad_lines or gaps
	Engine  string  `json:"engine"`   // "" where the engine is not known
	FirstNS int64   `json:"first_ns"` // since 1970; 0 unknown
	LastNS  int64   `json:"last_ns"`  // since 1970; 0 unknown
	Count   int64   `json:"count"`    // of what unit says
	Unit    string  `json:"unit"`     // what was counted
	Worst   float64 `json:"worst"`    // ns of the longest stall, highest share, most preemptions of a window; 0 where nothing is measured
	Active  bool    `json:"active"`   // holds at the newest step
}

// Text says what is wrong in one sentence without a full stop.
func (w Warning) Text() string {
	switch w.Rule {
	case Stall:
		if w.Worst == 0 {
			return "no step completed for " + unit.Duration(store.StallNS) + " or more"
		}
		return "no step completed for up to " + unit.Duration(int64(w.Worst))
	case Blocked:
		return fmt.Sprintf("no request runs although up to %.0f are deferred: what they wait for does not come", w.Worst)
	case Dropped:
		return "the server could not keep every record: these steps are missing everywhere"
	case KVFull:
		return "KV blocks run out: up to " + unit.Percent(w.Worst) + " in use"
	case Thrash:
		return fmt.Sprintf("requests lose their KV blocks again and again: up to %.0f preemptions in 10 s", w.Worst)
	case GraphMisses:
		return "decode steps run without a CUDA graph: up to " + unit.Percent(w.Worst) + " of them in 10 s"
	case Padding:
		return "captured sizes fit badly: up to " + unit.Percent(w.Worst) + " of their tokens are padding"
	case BadLines:
		return "lines that are no records were left out"
	case Gaps:
		return "steps are missing that no dropped record explains"
	}
	return ""
}

// join adds what o says of the same rule and engine.
func (w *Warning) join(o Warning) {
	if w.FirstNS == 0 || o.FirstNS != 0 && o.FirstNS < w.FirstNS {
		w.FirstNS = o.FirstNS
	}
	w.LastNS = max(w.LastNS, o.LastNS)
	w.Count += o.Count
	w.Worst = max(w.Worst, o.Worst)
	w.Active = w.Active || o.Active
}

// Merge joins warnings of parts of a run that do not overlap: active ones first, then by rule and engine.
func Merge(parts ...[]Warning) []Warning {
	var all []Warning
	for _, part := range parts {
		for _, w := range part {
			i := slices.IndexFunc(all, func(o Warning) bool { return o.Rule == w.Rule && o.Engine == w.Engine })
			if i < 0 {
				all = append(all, w)
			} else {
				all[i].join(w)
			}
		}
	}
	slices.SortFunc(all, func(a, b Warning) int {
		if a.Active != b.Active {
			if a.Active {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Engine, b.Engine))
	})
	return all
}
