// Package family names what a device kernel works for: attention, router, expert GEMMs and so on. Rules are ordered regular expressions
// over the kernel's name, kept in a TOML file that a user's file precedes; each answer carries the rule that gave it.
package family

import (
	_ "embed"
	"fmt"
	"regexp"

	"github.com/BurntSushi/toml"
)

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

// Verdict is a kernel's family and why.
type Verdict struct {
	Family Family
	Rule   string // rule id, or Unmatched
	Reason string
}

type rule struct {
	verdict Verdict
	match   *regexp.Regexp
}

// Rules classify names. They are immutable and safe for concurrent use.
type Rules struct{ rules []rule }

//go:embed rules.toml
var embedded string

// Default returns the embedded rules.
func Default() (*Rules, error) { return parse("embedded rules", embedded) }

// With returns rules that try those of a user's TOML text first. name is used in errors.
func (r *Rules) With(name, text string) (*Rules, error) {
	user, err := parse(name, text)
	if err != nil {
		return nil, err
	}
	return &Rules{rules: append(user.rules, r.rules...)}, nil
}

func parse(name, text string) (*Rules, error) {
	var file struct {
		Rule []struct {
			ID, Family, Match, Reason string
		} `toml:"rule"`
	}
	meta, err := toml.Decode(text, &file)
	if err != nil {
		return nil, fmt.Errorf("cannot read kernel rules %s: %w", name, err)
	}
	if extra := meta.Undecoded(); len(extra) > 0 {
		return nil, fmt.Errorf("cannot read kernel rules %s: unknown key %q: a rule has id, family, match and reason", name, extra[0])
	}
	out := &Rules{}
	seen := map[string]bool{}
	for i, v := range file.Rule {
		fam, err := Parse(v.Family)
		if err != nil {
			return nil, fmt.Errorf("kernel rules %s: rule %d (%s): %w", name, i+1, v.ID, err)
		}
		if v.ID == "" || v.ID == Unmatched || seen[v.ID] {
			return nil, fmt.Errorf("kernel rules %s: rule %d: id %q is empty, reserved or used twice", name, i+1, v.ID)
		}
		seen[v.ID] = true
		re, err := regexp.Compile(v.Match)
		if err != nil || v.Match == "" {
			return nil, fmt.Errorf("kernel rules %s: rule %s: match is not an expression: %v", name, v.ID, err)
		}
		out.rules = append(out.rules, rule{Verdict{fam, v.ID, v.Reason}, re})
	}
	return out, nil
}

// Classify gives a kernel's family. Names that no rule takes are Other with the rule Unmatched.
func (r *Rules) Classify(name string) Verdict {
	for i := range r.rules {
		if r.rules[i].match.MatchString(name) {
			return r.rules[i].verdict
		}
	}
	return Verdict{Other, Unmatched, "no rule knows this name"}
}
