package experts

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Placement says which ranks hold an expert. An expert on several ranks shares its work evenly among them.
type Placement struct {
	Name  string
	Ranks int
	// layers holds the ranks of each expert; one entry serves all layers.
	layers [][][]int
}

// Contiguous gives each rank a run of neighbouring experts; the first ranks take one more where they do not divide evenly. It is what the
// server does by default (vllm/model_executor/layers/fused_moe, determine_expert_map, strategy linear).
func Contiguous(experts, ranks int) (Placement, error) {
	return uniform("contiguous", experts, ranks, func(e int) int {
		each, more := experts/ranks, experts%ranks
		if e < more*(each+1) {
			return e / (each + 1)
		}
		return more + (e-more*(each+1))/each
	})
}

// RoundRobin deals the experts out to the ranks in turn (the server's --expert-placement-strategy round_robin).
func RoundRobin(experts, ranks int) (Placement, error) {
	return uniform("round_robin", experts, ranks, func(e int) int { return e % ranks })
}

func uniform(name string, experts, ranks int, of func(int) int) (Placement, error) {
	if ranks < 1 || ranks > experts {
		return Placement{}, fmt.Errorf("%d ranks of %d experts: expected 1 to %d", ranks, experts, experts)
	}
	layer := make([][]int, experts)
	for e := range layer {
		layer[e] = []int{of(e)}
	}
	return Placement{Name: name, Ranks: ranks, layers: [][][]int{layer}}, nil
}

// ParsePlacement reads a placement as JSON: a list of ranks, each the list of its experts, for all layers; or a list of such lists, one for
// each layer. Every expert must be on a rank. name stands for the placement in reports and messages.
func ParsePlacement(name string, text []byte, experts, layers int) (Placement, error) {
	var each [][]int
	if json.Unmarshal(text, &each) == nil {
		return newPlacement(name, [][][]int{each}, experts)
	}
	var all [][][]int
	if err := json.Unmarshal(text, &all); err != nil {
		return Placement{}, fmt.Errorf("cannot read placement %s: expected a list of ranks with their experts, [[0,1],[2,3]], or a list of those, one for each layer: %w", name, err)
	}
	if len(all) != layers {
		return Placement{}, fmt.Errorf("cannot read placement %s: %d layers: expected %d", name, len(all), layers)
	}
	return newPlacement(name, all, experts)
}

func newPlacement(name string, layers [][][]int, experts int) (Placement, error) {
	p := Placement{Name: name, Ranks: len(layers[0])}
	for i, ranks := range layers {
		where, err := ranksOf(ranks, experts)
		if err == nil && len(ranks) != p.Ranks {
			err = fmt.Errorf("%d ranks, and %d in the first layer", len(ranks), p.Ranks)
		}
		if err != nil {
			return Placement{}, fmt.Errorf("cannot read placement %s: layer %d: %w", name, i, err)
		}
		p.layers = append(p.layers, where)
	}
	return p, nil
}

// ranksOf turns the experts of each rank into the ranks of each expert.
func ranksOf(ranks [][]int, experts int) ([][]int, error) {
	if len(ranks) == 0 {
		return nil, errors.New("no ranks")
	}
	where := make([][]int, experts)
	for r, held := range ranks {
		for _, e := range held {
			if e < 0 || e >= experts {
				return nil, fmt.Errorf("rank %d holds expert %d: expected 0 to %d", r, e, experts-1)
			}
			where[e] = append(where[e], r)
		}
	}
	for e, r := range where {
		if len(r) == 0 {
			return nil, fmt.Errorf("expert %d is on no rank", e)
		}
	}
	return where, nil
}

// Imbalance says how evenly the ranks of a placement are loaded.
type Imbalance struct {
	Ranks       []float64 `json:"ranks"`         // choices by rank; replicas share evenly
	MaxOverMean *float64  `json:"max_over_mean"` // 1 when all are equal; null where nothing was chosen
	CV          *float64  `json:"cv"`
	// Lost is the share of the ranks' time that they wait for the busiest one if time goes by choices: 1 - mean/max, in [0,1).
	Lost *float64 `json:"lost_share"`
}

// Over spreads the choices of a layer over the ranks. layer selects the placement where that differs by layer.
func (p *Placement) Over(layer int, counts []int64) Imbalance {
	where := p.layers[min(layer, len(p.layers)-1)]
	loads := make([]float64, p.Ranks)
	for e, c := range counts {
		for _, r := range where[e] {
			loads[r] += float64(c) / float64(len(where[e]))
		}
	}
	return imbalance(loads)
}

func imbalance(loads []float64) Imbalance {
	var sum, square, most float64
	for _, v := range loads {
		sum += v
		most = max(most, v)
	}
	out := Imbalance{Ranks: loads}
	if sum == 0 {
		return out
	}
	mean := sum / float64(len(loads))
	for _, v := range loads {
		square += (v - mean) * (v - mean)
	}
	ratio, cv, lost := most/mean, math.Sqrt(square/float64(len(loads)))/mean, max(1-mean/most, 0)
	out.MaxOverMean, out.CV, out.Lost = &ratio, &cv, &lost
	return out
}
