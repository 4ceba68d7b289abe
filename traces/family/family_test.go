package family

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nameTable reads a table of kernel names and families.
func nameTable(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "kernels", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]string{}
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		name, family, ok := strings.Cut(in.Text(), "\t")
		if ok && name != "name" {
			out[name] = family
		}
	}
	if err := in.Err(); err != nil || len(out) < 50 {
		t.Fatalf("%s: %d names, %v", file, len(out), err)
	}
	return out
}

func defaults(t *testing.T) *Rules {
	t.Helper()
	r, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestKnownNames(t *testing.T) {
	r := defaults(t)
	for _, file := range []string{"names.tsv", "more.tsv"} {
		for name, want := range nameTable(t, file) {
			if v := r.Classify(name); v.Family.String() != want {
				t.Errorf("%s: %.120s is %s by %s, want %s", file, name, v.Family, v.Rule, want)
			}
		}
	}
}

func TestUnknownNamesSaySo(t *testing.T) {
	r := defaults(t)
	for _, name := range []string{"", "zzz", "my_secret_op_17"} {
		if v := r.Classify(name); v.Family != Other || v.Rule != Unmatched || v.Reason == "" {
			t.Errorf("%q: %+v", name, v)
		}
	}
}

func TestUserRulesComeFirst(t *testing.T) {
	r, err := defaults(t).With("mine", "[[rule]]\nid = \"mine\"\nfamily = \"router\"\nmatch = '^nvjet_.*_gate$'\nreason = \"our gate\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Classify("nvjet_x_gate"); v != (Verdict{Router, "mine", "our gate"}) {
		t.Errorf("user's rule: %+v", v)
	}
	if v := r.Classify("nvjet_x"); v.Family != DenseGEMM {
		t.Errorf("another name: %+v", v)
	}
}

func TestBadRulesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"x": "mine",
		"[[rule]]\nid = \"a\"\nfamily = \"nope\"\nmatch = 'x'":                                             `unknown family "nope"`,
		"[[rule]]\nid = \"a\"\nfamily = \"other\"\nmatch = '('":                                            "rule a: match",
		"[[rule]]\nid = \"a\"\nfamily = \"other\"":                                                         "rule a: match",
		"[[rule]]\nfamily = \"other\"\nmatch = 'x'":                                                        "empty",
		"[[rule]]\nid = \"unmatched\"\nfamily = \"other\"\nmatch = 'x'":                                    "reserved",
		"[[rule]]\nid = \"a\"\nfamily = \"other\"\nmatch = 'x'\nregex = 'y'":                               `unknown key "rule.regex"`,
		"[[rule]]\nid=\"a\"\nfamily=\"other\"\nmatch='x'\n[[rule]]\nid=\"a\"\nfamily=\"other\"\nmatch='y'": "twice",
	} {
		if _, err := defaults(t).With("mine", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("With(%q): %v, want it to say %q", text, err, want)
		}
	}
}

func TestEveryFamilyHasARule(t *testing.T) {
	seen := map[Family]bool{}
	for _, r := range defaults(t).rules {
		seen[r.verdict.Family] = true
		if r.verdict.Reason == "" {
			t.Errorf("rule %s gives no reason", r.verdict.Rule)
		}
	}
	for f := range Count {
		if !seen[f] {
			t.Errorf("no rule gives %s", f)
		}
		if got, err := Parse(f.String()); err != nil || got != f {
			t.Errorf("Parse(%s) = %v, %v", f, got, err)
		}
	}
}

func FuzzClassify(f *testing.F) {
	r, err := Default()
	if err != nil {
		f.Fatal(err)
	}
	f.Add("void at::native::elementwise_kernel<x>(y)")
	f.Fuzz(func(t *testing.T, name string) {
		if v := r.Classify(name); v.Family >= Count || v.Rule == "" {
			t.Fatalf("%q: %+v", name, v)
		}
	})
}
