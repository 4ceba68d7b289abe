package rank

import (
	"maps"
	"slices"

	"opprof/traces/family"
)

// Taxonomy is what windows without CUDA graphs teach: the place of each nameless kernel in the layer, by its name. It serves windows of the
// same model in which the neighbours do not tell, such as a trace without labels.
type Taxonomy map[string]Role

// taughtShare is how many launches of a hundred must have had the same place for a name to be taught.
const taughtShare = 90

// Teach learns the places of nameless kernels from a compiled window; nothing from one of another mode.
func (b *Breakdown) Teach() Taxonomy {
	out := Taxonomy{}
	if b.Mode != ModeCompiled {
		return out
	}
	type count struct{ role, all int64 }
	counts := map[string]map[Role]int64{}
	for i := range b.Kernel {
		k := &b.Kernel[i]
		if k.nameless {
			if counts[k.Name] == nil {
				counts[k.Name] = map[Role]int64{}
			}
			counts[k.Name][k.Role] += k.Use.Launches
		}
	}
	for name, roles := range counts {
		var c count
		var best Role
		for _, role := range slices.Sorted(maps.Keys(roles)) {
			c.all += roles[role]
			if role != NoRole && roles[role] > c.role {
				best, c.role = role, roles[role]
			}
		}
		if best != NoRole && c.role*100 >= c.all*taughtShare {
			out[name] = best
		}
	}
	return out
}

// Add takes over what another window teaches. Names that two windows place differently are unlearned.
func (t Taxonomy) Add(o Taxonomy) {
	for name, role := range o {
		if have, ok := t[name]; ok && have != role {
			role = NoRole
		}
		t[name] = role
	}
}

// Helps reports whether the taxonomy knows the place of a kernel that the breakdown could not place.
func (t Taxonomy) Helps(b *Breakdown) bool {
	return slices.ContainsFunc(b.Kernel, func(k KernelUse) bool { return k.nameless && k.Role == NoRole && t[k.Name] != NoRole })
}

// taught gives the kernels that have no place the one that the taxonomy knows.
func (a *analysis) taught() {
	if len(a.taxonomy) == 0 {
		return
	}
	for _, i := range a.sorted {
		e := a.t.Events.At(int(i))
		if a.fam[i] != family.Other || a.role[i] != NoRole || !family.Anonymous(a.verdicts[e.Name].Rule) {
			continue
		}
		if role := a.taxonomy[a.t.Names[e.Name]]; role != NoRole {
			a.setRole(i, role)
			a.fromTaxonomy[e.Name] = true
		}
	}
}
