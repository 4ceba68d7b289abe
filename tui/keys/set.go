package keys

import (
	"cmp"
	"slices"
	"strings"
)

// Set is a table of bindings in the order of the help. It is immutable.
type Set struct{ bindings []Binding }

// NewSet returns a set of bindings. The caller hands the slice over.
func NewSet(bindings []Binding) *Set { return &Set{bindings: bindings} }

// All returns a copy of the bindings.
func (s *Set) All() []Binding { return slices.Clone(s.bindings) }

// Match returns the binding of a key press in a context. The context's own binding wins over one for every page.
func (s *Set) Match(c Context, key string) (Binding, bool) {
	var found Binding
	ok := false
	for _, b := range s.bindings {
		if !b.In(c) || !slices.Contains(b.Keys, key) {
			continue
		}
		if slices.Contains(b.Contexts, c) {
			return b, true
		}
		if !ok {
			found, ok = b, true
		}
	}
	return found, ok
}

// ByID returns the first binding of an action.
func (s *Set) ByID(id ID) (Binding, bool) {
	i := slices.IndexFunc(s.bindings, func(b Binding) bool { return b.ID == id })
	if i < 0 {
		return Binding{}, false
	}
	return s.bindings[i], true
}

// Footer returns the bindings of a context that are on and have a place in the footer, most wanted first. The caller draws as many as fit.
func (s *Set) Footer(c Context, have Need) []Binding {
	var out []Binding
	for _, b := range s.bindings {
		if b.Footer > 0 && b.In(c) && b.Missing(have) == "" {
			out = append(out, b)
		}
	}
	slices.SortStableFunc(out, func(a, b Binding) int { return cmp.Compare(a.Footer, b.Footer) })
	return out
}

// Section is a group of the help.
type Section struct {
	Group    Group
	Bindings []Binding
}

// Help returns the bindings by group. A filter keeps those with it in their keys, names or sentences, in any case of letters.
func (s *Set) Help(filter string) []Section {
	filter = strings.ToLower(strings.TrimSpace(filter))
	var out []Section
	for _, g := range Groups() {
		sec := Section{Group: g}
		for _, b := range s.bindings {
			if b.Group == g && b.matches(filter) {
				sec.Bindings = append(sec.Bindings, b)
			}
		}
		if len(sec.Bindings) > 0 {
			out = append(out, sec)
		}
	}
	return out
}

func (b Binding) matches(filter string) bool {
	for _, s := range []string{b.Label(), b.Help, b.Long, string(b.Group)} {
		if strings.Contains(strings.ToLower(s), filter) {
			return true
		}
	}
	return false
}

// Table returns the bindings as a Markdown table, for the README.
func (s *Set) Table() string {
	var b strings.Builder
	b.WriteString("| key | action |\n|---|---|\n")
	for _, sec := range s.Help("") {
		b.WriteString("| **" + string(sec.Group) + "** | |\n")
		for _, k := range sec.Bindings {
			b.WriteString("| " + markdownKeys(k.Label()) + " | " + strings.ReplaceAll(k.Long, "|", `\|`) + " |\n")
		}
	}
	return b.String()
}

func markdownKeys(label string) string {
	parts := strings.Fields(strings.ReplaceAll(label, "|", `\|`))
	for i, p := range parts {
		parts[i] = "`" + p + "`"
	}
	return strings.Join(parts, " ")
}
