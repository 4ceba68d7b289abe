package family

import (
	_ "embed"
	"errors"
	"fmt"

	"github.com/BurntSushi/toml"
)

type rule struct {
	verdict  Verdict
	patterns []pattern
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

// Classify gives a kernel's family. Names that no rule takes are Other with the rule Unmatched.
func (r *Rules) Classify(name string) Verdict {
	s := subjectOf(name)
	for i := range r.rules {
		for k := range r.rules[i].patterns {
			if r.rules[i].patterns[k].matches(s) {
				return r.rules[i].verdict
			}
		}
	}
	return Verdict{Other, Unmatched, "no rule knows this name"}
}

func parse(name, text string) (*Rules, error) {
	var file struct {
		Rule []struct {
			ID, Family, Reason string
			Match              expressions
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
		patterns, err := v.Match.compile()
		if err != nil {
			return nil, fmt.Errorf("kernel rules %s: rule %s: match is not an expression: %w", name, v.ID, err)
		}
		out.rules = append(out.rules, rule{Verdict{fam, v.ID, v.Reason}, patterns})
	}
	return out, nil
}

// expressions is one expression or a list of them.
type expressions []string

// UnmarshalTOML takes a string or a list of strings.
func (e *expressions) UnmarshalTOML(v any) error {
	switch v := v.(type) {
	case string:
		*e = expressions{v}
		return nil
	case []any:
		for _, one := range v {
			s, ok := one.(string)
			if !ok {
				return fmt.Errorf("match holds %v: expected a string", one)
			}
			*e = append(*e, s)
		}
		return nil
	}
	return fmt.Errorf("match is %v: expected a string or a list of strings", v)
}

func (e expressions) compile() ([]pattern, error) {
	if len(e) == 0 {
		return nil, errors.New("it is empty")
	}
	var out []pattern
	for _, text := range e {
		if text == "" {
			return nil, errors.New("it is empty")
		}
		for _, one := range alternatives(text) {
			p, err := newPattern(one)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		}
	}
	return out, nil
}
