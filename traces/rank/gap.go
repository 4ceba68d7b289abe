package rank

import (
	"opprof/traces/family"
	"opprof/traces/kineto"
)

// gap is what stands between two kernels that say where in a layer they are.
type gap struct {
	before   int32 // the kernel before it; -1 at the start
	nameless []int32
	hasNamed bool // a norm or an activation that says so
}

// gaps gives places to kernels whose names say only that the compiler made them: what must stand between two parts of a layer, and is not
// there under a name of its own, is they.
func (a *analysis) gaps(events []int32) {
	g := gap{before: -1}
	for _, i := range events {
		e := a.t.Events.At(int(i))
		switch a.fam[i] {
		case family.Attention, family.Router, family.ExpertGEMM, family.DenseGEMM:
			if role := a.between(&g, i); role != NoRole {
				for _, k := range g.nameless {
					a.setRole(k, role)
				}
			}
			g = gap{before: i, nameless: g.nameless[:0]}
		case family.NormAct:
			g.hasNamed = true
		case family.Other:
			if e.Class == kineto.Kernel && family.Anonymous(a.verdicts[e.Name].Rule) {
				g.nameless = append(g.nameless, i)
			}
		}
	}
}

// between is the place of a gap's nameless kernels, by the kernels on both its sides.
func (a *analysis) between(g *gap, next int32) Role {
	if g.before < 0 || len(g.nameless) == 0 {
		return NoRole
	}
	before, after := a.fam[g.before], a.fam[next]
	left, right := a.role[g.before], a.role[next]
	switch {
	case left == QKV && after == family.Attention:
		return QKNorm
	case g.hasNamed:
		return NoRole
	case before == family.ExpertGEMM && after == family.ExpertGEMM, left == MLP && right == MLP:
		return Activation
	case left == OutputProjection && (right == RouterGate || right == MLP):
		return LayerNorm
	case (before == family.ExpertGEMM || left == ExpertCombine || left == MLP) && (right == QKV || right == LMHead):
		return LayerNorm
	}
	return NoRole
}
