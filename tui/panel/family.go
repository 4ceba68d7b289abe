package panel

import (
	"opprof/engine/unit"
	"opprof/traces/family"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// familyLook is how a kernel family is written: a letter where there is one cell, a short name in the head of a column, and its hue.
type familyLook struct {
	letter      rune
	short, name string
	role        theme.Role
}

func lookOf(f family.Family) familyLook {
	switch f {
	case family.Attention:
		return familyLook{'A', "attn", "attention", theme.RoleAttention}
	case family.Router:
		return familyLook{'R', "router", "router", theme.RoleRouter}
	case family.ExpertGEMM:
		return familyLook{'E', "expert", "expert GEMM", theme.RoleExpert}
	case family.DenseGEMM:
		return familyLook{'D', "dense", "dense GEMM", theme.RoleDense}
	case family.NormAct:
		return familyLook{'N', "norm", "norm and activation", theme.RoleNorm}
	case family.Collective:
		return familyLook{'C', "coll", "collective", theme.RoleCollective}
	case family.Sampling:
		return familyLook{'S', "sampl", "sampling", theme.RoleSampling}
	case family.Memory:
		return familyLook{'M', "mem", "memory", theme.RoleMemory}
	}
	return familyLook{'O', "other", "other", theme.RoleOther}
}

// FamilyName is a family as pages write it.
func FamilyName(f family.Family) string { return lookOf(f).name }

// familyLegend writes what the letters stand for, as many as fit, and returns the columns used.
func familyLegend(g *chart.Grid, x, y int) {
	for f := range family.Count {
		look := lookOf(f)
		n := 2 + len(look.short)
		if x+n > g.W() {
			return
		}
		g.SetAttr(x, y, look.letter, look.role, theme.Bold|theme.Reverse)
		g.Text(x+2, y, n, look.short, theme.RoleDim)
		x += n + 2
	}
}

// legendWidth is how wide the whole legend is.
func legendWidth() int {
	n := 0
	for f := range family.Count {
		n += 4 + len(lookOf(f).short)
	}
	return n - 2
}

// ms3 prints milliseconds for columns whose head says so; "-" for what is not known, which is negative.
func ms3(ns int64) string {
	if ns < 0 {
		return unit.Unknown
	}
	return unit.DurationMS(ns)
}

// signedMS prints milliseconds that may be negative, with their sign when asked.
func signedMS(ns int64, plus bool) string {
	switch {
	case ns < 0:
		return "-" + unit.DurationMS(-ns)
	case plus && ns > 0:
		return "+" + unit.DurationMS(ns)
	}
	return unit.DurationMS(ns)
}
