// Package family names what a device kernel works for: attention, router, expert GEMMs and so on. Rules are ordered regular expressions
// over the identifiers of the kernel's name, kept in a TOML file that a user's file precedes; each answer carries the rule that gave it.
package family

import "fmt"

// Family is what a kernel works for.
type Family uint8

const (
	Attention Family = iota
	Router
	ExpertGEMM
	DenseGEMM
	NormAct
	Collective
	Sampling
	Memory
	Other
	Count // number of families
)

var names = [Count]string{"attention", "router", "expert_gemm", "dense_gemm", "norm_act", "collective", "sampling", "memory", "other"}

// String is the family's name in files and on screens.
func (f Family) String() string {
	if f < Count {
		return names[f]
	}
	return names[Other]
}

// Parse reads a family's name.
func Parse(s string) (Family, error) {
	for i, n := range names {
		if n == s {
			return Family(i), nil
		}
	}
	return Other, fmt.Errorf("unknown family %q: expected one of %v", s, names)
}

// Unmatched is the rule of a kernel that no rule takes. Its share is always shown.
const Unmatched = "unmatched"

// Anonymous reports whether a rule knows of a kernel only who made it: the compiler's names without an operator, and names that no rule takes.
// The kernel's place in the layer may tell more.
func Anonymous(rule string) bool { return rule == Unmatched || rule == "inductor" }

// Verdict is a kernel's family and why.
type Verdict struct {
	Family Family
	Rule   string // rule id, or Unmatched
	Reason string
}
