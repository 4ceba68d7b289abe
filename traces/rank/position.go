package rank

import (
	"slices"
	"strings"

	"opprof/traces/family"
)

// Role is a kernel's place in the layer, for kernels whose name does not tell: one GEMM kernel serves the query, the router's gate and
// the language-model head alike.
type Role uint8

const (
	NoRole Role = iota
	QKV
	OutputProjection
	RouterGate
	ExpertCombine
	MLP
	LMHead
	QKNorm
	LayerNorm
	Activation
)

var roles = [...]struct{ name, reason string }{
	{"", ""},
	{"qkv", "the dense GEMM before attention"},
	{"output_projection", "the dense GEMM right after attention"},
	{"router_gate", "the dense GEMM right before top-k gating"},
	{"expert_combine", "the reduction right after the experts' last GEMM"},
	{"mlp", "a dense GEMM between attention layers"},
	{"lm_head", "the last dense GEMM of the iteration, after the last layer"},
	{"qk_norm_rope", "a kernel of no name between the query's GEMM and attention: norm and rotary embedding"},
	{"layer_norm", "a kernel of no name where a layer's norm must be, and no named norm there"},
	{"activation", "a kernel of no name between the two GEMMs of a feed-forward part"},
}

// String is the role's name; "" for NoRole.
func (r Role) String() string { return roles[r].name }

func (r Role) reason() string { return roles[r].reason }

// position walks each iteration's work in order and gives roles by what stands before and after. Collectives, copies and kernels of no
// family stand between the kernels of a layer without changing what the layer is.
func (a *analysis) position() {
	byIter := make([][]int32, len(a.labels))
	for _, i := range a.sorted {
		if k := a.iter[i]; k >= 0 {
			byIter[k] = append(byIter[k], i)
		}
	}
	for _, events := range byIter {
		a.positionIn(events)
	}
}

// run is a stretch of neighbouring dense GEMMs: a product and the reduction of its split-K parts, or what was launched as several.
type run struct {
	events     []int32
	activation bool          // an activation function stands between the run before and this one
	attention  bool          // attention stands there
	next       family.Family // the first attention, router, expert or dense work after it; Other when none follows
	activates  bool          // an activation function stands before that
}

func (a *analysis) positionIn(events []int32) {
	runs := a.runs(events)
	for n, r := range runs {
		role := r.role()
		if n == len(runs)-1 && r.next == family.Other && !r.attention {
			role = LMHead
		}
		for _, i := range r.events {
			a.setRole(i, role)
		}
	}
	a.combines(events)
	a.gaps(events)
}

// runs cuts an iteration's work into runs of dense GEMMs with what stands around them.
func (a *analysis) runs(events []int32) []run {
	var out []run
	open := false // the last run may still grow
	gap := run{}  // what was seen since the last run
	for _, i := range events {
		switch f := a.fam[i]; f {
		case family.DenseGEMM:
			if !open {
				a.close(out, f, gap)
				out = append(out, run{activation: gap.activation, attention: gap.attention && len(out) > 0, next: family.Other})
				open, gap = true, run{}
			}
			out[len(out)-1].events = append(out[len(out)-1].events, i)
			continue
		case family.Attention, family.Router, family.ExpertGEMM:
			a.close(out, f, gap)
			gap.attention = gap.attention || f == family.Attention
			gap.activation = false
		case family.NormAct:
			gap.activation = gap.activation || isActivation(a.verdicts[a.t.Events.At(int(i)).Name].Rule)
		case family.Memory, family.Collective:
			continue
		}
		open = false
	}
	return out
}

// isActivation reports whether a rule takes activation functions, alone or with the quantisation that follows.
func isActivation(rule string) bool {
	return slices.Contains([]string{"activation", "inductor_activation", "gemm_input", "expert_quantise"}, rule)
}

// close tells the last run what follows it, once.
func (a *analysis) close(runs []run, next family.Family, gap run) {
	if n := len(runs); n > 0 && runs[n-1].next == family.Other {
		runs[n-1].next, runs[n-1].activates = next, gap.activation
	}
}

func (r run) role() Role {
	switch {
	case r.next == family.Router && !r.attention:
		return RouterGate
	case r.attention:
		return OutputProjection
	case r.activation || r.activates:
		return MLP
	case r.next == family.Attention, r.next == family.DenseGEMM:
		return QKV
	}
	return NoRole
}

// combines marks the reductions right after the experts' last GEMM of a layer.
func (a *analysis) combines(events []int32) {
	after := false
	for k, i := range events {
		switch f := a.fam[i]; {
		case f == family.ExpertGEMM:
			after = true
		case f == family.Other && after && isReduction(a.t.Names[a.t.Events.At(int(i)).Name]) && !a.expertsFollow(events[k+1:]):
			a.setRole(i, ExpertCombine)
			after = false
		case f != family.Memory:
			after = false
		}
	}
}

// expertsFollow reports whether the layer's experts go on: an expert GEMM comes before anything of another layer.
func (a *analysis) expertsFollow(events []int32) bool {
	for _, i := range events {
		switch a.fam[i] {
		case family.ExpertGEMM:
			return true
		case family.Attention, family.DenseGEMM, family.Router:
			return false
		}
	}
	return false
}

func isReduction(name string) bool {
	return strings.Contains(name, "reduce_kernel") || strings.Contains(name, "sum_functor")
}

func (a *analysis) setRole(i int32, r Role) {
	a.role[i] = r
	switch r {
	case RouterGate, ExpertCombine:
		a.fam[i] = family.Router
	case QKNorm, LayerNorm, Activation:
		a.fam[i] = family.NormAct
	}
}
