package family

import (
	"bufio"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"pgregory.net/rapid"
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
		name, rest, ok := strings.Cut(in.Text(), "\t")
		family, _, _ := strings.Cut(rest, "\t") // some tables have a source behind it
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
	for _, file := range []string{"names.tsv", "more.tsv", "libraries.tsv"} {
		for name, want := range nameTable(t, file) {
			if v := r.Classify(name); v.Family.String() != want {
				t.Errorf("%s: %.120s is %s by %s, want %s", file, name, v.Family, v.Rule, want)
			}
		}
	}
}

// TestNamesOfOtherEngines: names that the rules were not made for, some of which say too little. Most families must be right all the same.
func TestNamesOfOtherEngines(t *testing.T) {
	r := defaults(t)
	right, all := 0, 0
	for name, want := range nameTable(t, "unseen.tsv") {
		v := r.Classify(name)
		all++
		if v.Family.String() == want {
			right++
		} else {
			t.Logf("%s is %s by %s, not %s", name, v.Family, v.Rule, want)
		}
	}
	if right*100 < all*98 {
		t.Errorf("%d of %d", right, all)
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

// TestWordsOnlySaveTime compares the rules with their expressions matched one by one against every name of the tables and pieces of them.
func TestWordsOnlySaveTime(t *testing.T) {
	r := defaults(t)
	var file struct {
		Rule []struct {
			ID, Family, Reason string
			Match              expressions
		}
	}
	if _, err := toml.Decode(embedded, &file); err != nil {
		t.Fatal(err)
	}
	type slow struct {
		id string
		re *regexp.Regexp
	}
	var all []slow
	for _, v := range file.Rule {
		for _, m := range v.Match {
			all = append(all, slow{v.ID, regexp.MustCompile(m)})
		}
	}
	oracle := func(name string) string {
		text := identifiers(name)
		for _, s := range all {
			if s.re.MatchString(text) {
				return s.id
			}
		}
		return Unmatched
	}
	var names []string
	for _, file := range []string{"names.tsv", "more.tsv", "libraries.tsv"} {
		names = append(names, slices.Sorted(maps.Keys(nameTable(t, file)))...)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "name")
		from := rapid.IntRange(0, len(name)-1).Draw(t, "from")
		other := rapid.SampledFrom(names).Draw(t, "other")
		for _, n := range []string{name, name[from:], strings.ToUpper(name), name[:from] + other, "é" + name} {
			if got, want := r.Classify(n).Rule, oracle(n); got != want {
				t.Fatalf("%q: %s, expressions one by one say %s", n, got, want)
			}
		}
	})
}

func TestIdentifiers(t *testing.T) {
	for name, want := range map[string]string{
		"void a::b<c(d)>(e::params)":                                                 "void a::b<c(d)>",
		"void (anonymous namespace)::f<(int)3>(x)":                                   "void (anonymous namespace)::f<(int)3>",
		"Memcpy DtoH (Device -> Pinned)":                                             "Memcpy DtoH (Device -> Pinned)",
		"std::enable_if<!(false), void>::type k<1>(x)":                               "std::enable_if<!(false), void>::type k<1>",
		"std::enable_if<(((8)>(0)))&&v<w>::exists, void>::type a::k<b, 8>(c*, d<e>)": "std::enable_if<(((8)>(0)))&&v<w>::exists, void>::type a::k<b, 8>",
		"plain":                          "plain",
		"_ZN5aiter3fooILi256ELb0EE3barE": "aiter::foo::bar _ZN5aiter3fooILi256ELb0EE3barE",
		"_Z":                             " _Z",
		"_ZN99999999999999999999999foo":  " _ZN99999999999999999999999foo",
		"a<b->c(d)>(e)":                  "a<b->c(d)>",
		"":                               "",
	} {
		if got := identifiers(name); got != want {
			t.Errorf("identifiers(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestAlternatives(t *testing.T) {
	for text, want := range map[string][]string{
		`a|b`:          {"a", "b"},
		`(?i)a|b(c|d)`: {"(?i)a", "(?i)b(c|d)"},
		`[|]|x`:        {"[|]", "x"},
		`[^]|]|x`:      {"[^]|]", "x"},
		`a\|b`:         {`a\|b`},
		`a|(?i)b|c`:    {`a|(?i)b|c`},
		`a|`:           {"a", ""},
	} {
		if got := alternatives(text); !slices.Equal(got, want) {
			t.Errorf("alternatives(%s) = %q, want %q", text, got, want)
		}
	}
}

func BenchmarkClassify(b *testing.B) {
	r, err := Default()
	if err != nil {
		b.Fatal(err)
	}
	long := "void cutlass::device_kernel<vllm::x<" + strings.Repeat("cute::tuple<cute::C<128>, cute::_1>, ", 60) + ">>(x)"
	for _, name := range []string{"fused_moe_kernel", "nothing_that_is_known", long} {
		b.Run(name[:16], func(b *testing.B) {
			for b.Loop() {
				r.Classify(name)
			}
		})
	}
}
