package experts

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// arrayOf makes an array of [tokens][layers][k] ids.
func arrayOf(t testing.TB, ids [][][]uint16) *Array {
	t.Helper()
	a, err := ReadNPY(bytes.NewReader(fileOf(ids)), 1<<24)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func fileOf(ids [][][]uint16) []byte {
	var data []byte
	for _, token := range ids {
		for _, layer := range token {
			for _, id := range layer {
				data = binary.LittleEndian.AppendUint16(data, id)
			}
		}
	}
	return npy(head("<u2", "False", fmt.Sprintf("(%d, %d, %d)", len(ids), len(ids[0]), len(ids[0][0]))), data...)
}

func TestRowsThatNoRouterWrites(t *testing.T) {
	l := NewLoad(8)
	err := l.Add(arrayOf(t, [][][]uint16{
		{{1, 2}, {0, 0}, {0, 0}}, // the third layer never routes
		{{0, 0}, {0, 0}, {0, 0}}, // nobody wrote this token
		{{3, 3}, {0, 1}, {0, 0}},
		{{1, 9}, {7, 0}, {0, 0}}, // 9 is no expert
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]int64{{0, 2, 1, 2, 0, 0, 0, 0}, {2, 1, 0, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 0, 0, 0}}
	if !reflect.DeepEqual(l.Counts, want) || !reflect.DeepEqual(l.Rows, []int64{3, 2, 0}) {
		t.Errorf("counts %v, rows %v", l.Counts, l.Rows)
	}
	r := NewReport(l, nil, nil)
	if r.ZeroRows != 1+2+4 || r.ZeroTokens != 1 || r.RepeatedRows != 1 || r.OutOfRange != 1 || !reflect.DeepEqual(r.Unrouted, []int{2}) {
		t.Errorf("%+v", r)
	}
	if b := r.Layer[2].Balance; b.Entropy != nil || b.MaxOverMean != nil || b.Busiest != nil {
		t.Errorf("a layer that does not route has figures: %+v", b)
	}
	for _, word := range []string{"3 rows of nothing but expert 0", "1 layer of nothing", "1 row with an expert named twice", "1 id of no expert"} {
		if !strings.Contains(strings.Join(r.Warnings, "|"), word) {
			t.Errorf("no warning says %q: %q", word, r.Warnings)
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

func TestOneExpertATokenMayBeExpertZero(t *testing.T) {
	l := NewLoad(4)
	if err := l.Add(arrayOf(t, [][][]uint16{{{0}, {0}}, {{0}, {2}}})); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(l.Layer(0), []int64{2, 0, 0, 0}) || l.ZeroTokens != 1 || !strings.Contains(NewReport(l, nil, nil).Warnings[0], "1 token with expert 0") {
		t.Errorf("%v, %d zero tokens, %q", l.Layer(0), l.ZeroTokens, NewReport(l, nil, nil).Warnings)
	}
}

func TestArraysOfOtherModelsAreRefused(t *testing.T) {
	l := NewLoad(4)
	if err := l.Add(arrayOf(t, [][][]uint16{{{1, 2}}})); err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprint(*l)
	for name, ids := range map[string][][][]uint16{"layers": {{{1, 2}, {1, 2}}}, "experts a token": {{{1, 2, 3}}}} {
		if err := l.Add(arrayOf(t, ids)); !errors.Is(err, ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := NewLoad(1).Add(arrayOf(t, [][][]uint16{{{1, 2}}})); !errors.Is(err, ErrShape) {
		t.Errorf("more experts a token than experts: %v", err)
	}
	if after := fmt.Sprint(*l); after != before {
		t.Errorf("a refused array changed the load: %s, before %s", after, before)
	}
}

// draw draws ids of some tokens.
func draw(t *rapid.T, layers, k, experts int) [][][]uint16 {
	id := rapid.Uint16Range(0, uint16(experts-1))
	return rapid.SliceOfN(rapid.SliceOfN(rapid.SliceOfN(id, k, k), layers, layers), 1, 20).Draw(t, "ids")
}

func TestCutsAndOrderDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers, k := rapid.IntRange(1, 4).Draw(t, "layers"), rapid.IntRange(1, 4).Draw(t, "k")
		ids := draw(t, layers, k, 12)
		cut := rapid.IntRange(0, len(ids)).Draw(t, "cut")
		given := rapid.SampledFrom([]int{0, 12}).Draw(t, "given")
		one, two := NewLoad(given), NewLoad(given)
		add := func(l *Load, part [][][]uint16) {
			if len(part) == 0 {
				return
			}
			a, err := ReadNPY(bytes.NewReader(fileOf(part)), 1<<24)
			if err == nil {
				err = l.Add(a)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		add(one, ids)
		add(two, ids[cut:])
		add(two, ids[:cut])
		two.Arrays = one.Arrays
		a, b := NewReport(one, nil, nil), NewReport(two, nil, nil)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%+v\n%+v", a, b)
		}
		var choices int64
		for layer, l := range a.Layer {
			choices += l.Choices
			if l.Choices != l.Tokens*int64(k) {
				t.Fatalf("layer %d: %d choices of %d tokens", layer, l.Choices, l.Tokens)
			}
		}
		if choices != a.All.Choices {
			t.Fatalf("layers have %d choices, all %d", choices, a.All.Choices)
		}
	})
}

func TestBalanceBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.Int64Range(0, 1000), 1, 40).Draw(t, "counts")
		k := rapid.IntRange(1, len(counts)).Draw(t, "k")
		b := NewBalance(counts, k)
		if b.Choices == 0 {
			if b.Entropy != nil {
				t.Fatal("figures of nothing")
			}
			return
		}
		n := float64(len(counts))
		switch {
		case *b.Entropy < 0 || *b.Entropy > math.Log2(n)+1e-9,
			*b.MaxOverMean < 1-1e-12 || *b.MaxOverMean > n+1e-9,
			*b.CV < 0 || *b.CV > math.Sqrt(n-1)+1e-9,
			*b.TopShare < float64(k)/n-1e-12 || *b.TopShare > 1,
			counts[*b.Busiest] != b.BusiestN:
			t.Fatalf("%v: %+v", counts, b)
		}
		for i, v := range Heat(counts, len(counts)) {
			if math.Abs(v-float64(counts[i])*n/float64(b.Choices)) > 1e-9 {
				t.Fatalf("heat %d of %v is %v", i, counts, v)
			}
		}
	})
}

func TestEvenAndOneSided(t *testing.T) {
	even := NewBalance([]int64{5, 5, 5, 5}, 2)
	if *even.Entropy != 2 || *even.Evenness != 1 || *even.MaxOverMean != 1 || *even.CV != 0 || *even.TopShare != 0.5 || even.Unused != 0 || *even.Busiest != 0 {
		t.Errorf("even: %+v", even)
	}
	one := NewBalance([]int64{0, 0, 9, 0}, 1)
	if *one.Entropy != 0 || *one.Evenness != 0 || *one.MaxOverMean != 4 || math.Abs(*one.CV-math.Sqrt(3)) > 1e-15 || *one.TopShare != 1 || one.Unused != 3 {
		t.Errorf("one-sided: %+v", one)
	}
	if only := NewBalance([]int64{3}, 1); only.Evenness != nil || *only.Entropy != 0 {
		t.Errorf("one expert: %+v", only)
	}
	if h := Heat([]int64{4, 0, 1, 1, 0}, 2); !reflect.DeepEqual(h, []float64{2 / 1.2, 2.0 / 3 / 1.2}) {
		t.Errorf("heat %v", h)
	}
	if Heat([]int64{0, 0}, 2) != nil || Heat([]int64{1}, 0) != nil {
		t.Error("heat of nothing")
	}
}

func TestPlacements(t *testing.T) {
	counts := []int64{6, 0, 1, 1, 4}
	place := func(p Placement, err error) Placement {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, c := range map[string]struct {
		p    Placement
		want []float64
	}{
		"contiguous":  {place(Contiguous(5, 2)), []float64{7, 5}},
		"three":       {place(Contiguous(5, 3)), []float64{6, 2, 4}},
		"round robin": {place(RoundRobin(5, 2)), []float64{11, 1}},
		"one":         {place(Contiguous(5, 1)), []float64{12}},
		"file":        {place(ParsePlacement("f", []byte(`[[0,2],[1,3,4]]`), 5, 9)), []float64{7, 5}},
		"replicas":    {place(ParsePlacement("f", []byte(`[[0,1,2],[0,3,4]]`), 5, 1)), []float64{4, 8}},
		"by layer":    {place(ParsePlacement("f", []byte(`[[[0,1,2,3],[4]],[[0],[1,2,3,4]]]`), 5, 2)), []float64{8, 4}},
	} {
		if got := c.p.Over(0, counts); !reflect.DeepEqual(got.Ranks, c.want) || c.p.Ranks != len(c.want) {
			t.Errorf("%s: %v, want %v", name, got.Ranks, c.want)
		}
	}
	p := place(ParsePlacement("f", []byte(`[[[0,1,2,3],[4]],[[0],[1,2,3,4]]]`), 5, 2))
	second := p.Over(1, counts)
	if !reflect.DeepEqual(second.Ranks, []float64{6, 6}) || *second.MaxOverMean != 1 || *second.Lost != 0 {
		t.Errorf("second layer: %+v", second)
	}
	if nothing := p.Over(0, make([]int64, 5)); nothing.MaxOverMean != nil || nothing.Lost != nil {
		t.Errorf("nothing: %+v", nothing)
	}
	for text, want := range map[string]string{
		`{}`: "expected a list", `[]`: "no ranks", `[[0,1,2,3]]`: "expert 4 is on no rank", `[[0,1,2,3,5]]`: "holds expert 5", `[[-1]]`: "holds expert -1",
		`[[[0,1,2,3,4]]]`: "1 layers: expected 2", `[[[0,1,2,3,4]],[[0],[1,2,3,4]]]`: "layer 1: 2 ranks", `[[[]],[[]]]`: "layer 0: expert 0", `[0]`: "expected a list",
		`[[],[[0]]]`: "layer 0: no ranks",
	} {
		if _, err := ParsePlacement("f", []byte(text), 5, 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for _, n := range []int{0, -1, 6} {
		if _, err := Contiguous(5, n); err == nil {
			t.Errorf("%d ranks of 5 experts", n)
		}
	}
}

// responseOf is a server's answer with arrays as its choices.
func responseOf(usage string, files ...[]byte) string {
	var choices []string
	for i, f := range files {
		choices = append(choices, fmt.Sprintf(`{"index":%d,"text":"x","routed_experts":%q}`, i, base64.StdEncoding.EncodeToString(f)))
	}
	return `{"id":"cmpl-1","choices":[` + strings.Join(choices, ",") + `],"usage":` + usage + `}`
}

func TestResponses(t *testing.T) {
	two, three := fileOf([][][]uint16{{{1, 2}}, {{3, 4}}}), fileOf([][][]uint16{{{1, 2}}, {{3, 4}}, {{5, 6}}})
	for name, c := range map[string]struct {
		text   string
		arrays int
		want   string // of the problems
	}{
		"one":           {responseOf(`{"prompt_tokens":1,"completion_tokens":2}`, two), 1, ""},
		"two choices":   {responseOf(`{"prompt_tokens":2,"completion_tokens":3}`, two, three), 2, ""},
		"no usage":      {responseOf(`null`, two), 1, ""},
		"lines":         {responseOf(`null`, two) + "\n" + responseOf(`null`, three) + "\n", 2, ""},
		"other tokens":  {responseOf(`{"prompt_tokens":1,"completion_tokens":3}`, two), 1, "arrays of 2 tokens: expected 3"},
		"null":          {`{"choices":[{"index":0,"routed_experts":null}]}` + responseOf(`null`, two), 1, "response 1, choice 0: no routed_experts"},
		"absent":        {`{"choices":[{"index":0}]}`, 0, "--enable-return-routed-experts"},
		"a list":        {`{"choices":[{"index":0,"routed_experts":[1]}]}`, 0, "not a string"},
		"not base64":    {`{"choices":[{"index":0,"routed_experts":"k05VTVBZ!"}]}`, 0, "routed_experts: "},
		"cut off":       {responseOf(`null`, two[:len(two)-1]), 0, "cut off"},
		"an error":      {`{"error":{"message":"x"}}` + responseOf(`null`, two), 1, "response 1 has no choices"},
		"another shape": {responseOf(`null`, two, fileOf([][][]uint16{{{1}}})), 1, "another shape"},
		"of other type": {`[1]` + responseOf(`null`, two), 1, "response 1"},
		"listed":        {"[" + responseOf(`null`, two) + "," + responseOf(`null`, three) + `,{}]`, 2, "response 3 has no choices"},
		"a number":      {"7\n" + responseOf(`null`, two), 1, "response 1 is a JSON number: expected a server's response"},
		"empty list":    {"[]" + responseOf(`null`, two), 1, ""},
		"an archive":    {"PK\x03\x04", 0, "save the array alone with numpy.save"},
		"torn":          {responseOf(`null`, two) + `{"choices":[`, 1, "not JSON"},
	} {
		path := filepath.Join(t.TempDir(), "r.json")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		files, err := ReadFiles(t.Context(), []string{path}, NewLoad(8))
		if err != nil {
			t.Fatal(err)
		}
		problems := strings.Join(files[0].Problems, "|")
		if files[0].Arrays != c.arrays || !strings.Contains(problems, c.want) || (c.want == "") != (problems == "") {
			t.Errorf("%s: %d arrays, %q; want %d, %q", name, files[0].Arrays, problems, c.arrays, c.want)
		}
	}
}

func TestFilesOfARun(t *testing.T) {
	run := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(run, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	npyFile := write("experts/a.npy", fileOf([][][]uint16{{{1, 2}}}))
	empty := write("experts/b/c.jsonl", nil)
	write("run.json", []byte("{}"))
	write("experts/notes.txt", nil)
	paths, err := Find(run)
	if err != nil || !reflect.DeepEqual(paths, []string{npyFile, empty}) {
		t.Fatalf("%q, %v", paths, err)
	}
	l := NewLoad(0)
	files, err := ReadFiles(t.Context(), append(paths, filepath.Join(run, "gone")), l)
	if err != nil || files[0].Arrays != 1 || len(files[0].Problems) != 0 || !strings.Contains(files[1].Problems[0], "empty") || len(files[2].Problems) != 1 || l.Tokens != 1 {
		t.Errorf("%+v, %v", files, err)
	}
	if n, given := l.Experts(); n != 3 || given || NewReport(l, files, nil).ExpertsFrom != "largest_id" {
		t.Errorf("%d experts, given %t", n, given)
	}
	if _, err := Find(filepath.Join(run, "gone")); err == nil {
		t.Error("found what is not there")
	}
	if _, err := Find(filepath.Join(run, "experts", "b", "..", "..", "none")); err == nil {
		t.Error("found what is not there")
	}
	plain := t.TempDir()
	for _, name := range []string{"layer1", "windows"} {
		if err := os.Mkdir(filepath.Join(plain, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(plain, "run.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(plain); err == nil || !strings.Contains(err.Error(), "no experts folder") {
		t.Errorf("a run without experts: %v", err)
	}
	if one, err := Find(npyFile); err != nil || len(one) != 1 {
		t.Errorf("%q, %v", one, err)
	}
}

// A server that routes nothing, such as one on a CPU, returns zeros: how many experts there are is not told then, and one sentence says why.
func TestNothingButZeros(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	if err := os.WriteFile(path, fileOf([][][]uint16{{{0, 0}, {0, 0}}, {{0, 0}, {0, 0}}}), 0o600); err != nil {
		t.Fatal(err)
	}
	l := NewLoad(0)
	files, err := ReadFiles(t.Context(), []string{path}, l)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReport(l, files, nil)
	if r.Experts != 0 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "nothing but zeros") {
		t.Errorf("%d experts, %q", r.Experts, r.Warnings)
	}
}
