package experts

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func readJSON(t testing.TB, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "experts", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// layouts are one array of ids as NumPy wrote it in every layout.
type layouts struct {
	IDs   [][][]int64
	Files map[string]string
}

func (l layouts) file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(l.Files[name])
	if err != nil || len(b) == 0 {
		t.Fatalf("%s: %v", name, err)
	}
	return b
}

func TestEveryLayoutThatNumPyWrites(t *testing.T) {
	var in layouts
	readJSON(t, "arrays.json", &in)
	if len(in.Files) != 14*2*3 {
		t.Fatalf("%d files", len(in.Files))
	}
	for name := range in.Files {
		a, err := ReadNPY(bytes.NewReader(in.file(t, name)), 1<<20)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if a.Tokens != len(in.IDs) || a.Layers != len(in.IDs[0]) || a.TopK != len(in.IDs[0][0]) {
			t.Errorf("%s: shape %d,%d,%d", name, a.Tokens, a.Layers, a.TopK)
			continue
		}
		for i := range in.IDs {
			for l := range in.IDs[i] {
				for k, want := range in.IDs[i][l] {
					if got := a.ID(i, l, k); got != want {
						t.Fatalf("%s: id %d,%d,%d is %d, want %d", name, i, l, k, got, want)
					}
				}
			}
		}
	}
}

// npy writes a file of version 1 with a header as given.
func npy(head string, data ...byte) []byte {
	return append(append([]byte(magic+"\x01\x00"), byte(len(head)), byte(len(head)>>8)), append([]byte(head), data...)...)
}

func head(descr, fortran, shape string) string {
	return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n"
}

func TestWhatIsNoArrayOfIDs(t *testing.T) {
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":           {nil, "not a NumPy file"},
		"zip":             {[]byte("PK\x03\x04........"), "not a NumPy file"},
		"version 4":       {[]byte(magic + "\x04\x00\x00\x00\x00\x00"), "version 4"},
		"no header":       {[]byte(magic + "\x01\x00\x40\x00{"), "header is cut off"},
		"no length":       {[]byte(magic + "\x02\x00\x40"), "header is cut off"},
		"huge header":     {[]byte(magic + "\x02\x00\xff\xff\xff\x7f"), "header of 2147483647 bytes"},
		"no dictionary":   {npy("[1]"), "not a dictionary"},
		"open dictionary": {npy("{'descr': '<u2',"), "header"},
		"open string":     {npy("{'descr"), "quoted string"},
		"other key":       {npy("{'x': 1}"), "not a key"},
		"twice":           {npy("{'descr': '<u2', 'descr': '<u2'}"), "twice"},
		"missing":         {npy("{'descr': '<u2', 'shape': (1,1,1)}"), `"fortran_order" is missing`},
		"more":            {npy(head("<u2", "False", "(0, 1, 1)") + "x"), "after the dictionary"},
		"structured":      {npy("{'descr': [('a', '<u2')], }"), "structured"},
		"boolean":         {npy(head("<u2", "Maybe", "(1, 1, 1)")), "True or False"},
		"floats":          {npy(head("<f4", "False", "(1, 1, 1)")), "expected integers"},
		"objects":         {npy(head("|O", "False", "(1, 1, 1)")), "expected integers"},
		"three bytes":     {npy(head("<u3", "False", "(1, 1, 1)")), "1, 2, 4 or 8"},
		"byte order":      {npy(head("!u2", "False", "(1, 1, 1)")), "byte order"},
		"two axes":        {npy(head("|u1", "False", "(1, 1)")), "2 axes"},
		"nine axes":       {npy(head("|u1", "False", "(1,1,1,1,1,1,1,1,1)")), "tuple of sizes"},
		"negative":        {npy(head("|u1", "False", "(-1, 1, 1)")), "tuple of sizes"},
		"no tuple":        {npy(head("|u1", "False", "7")), "tuple of sizes"},
		"no layers":       {npy(head("|u1", "False", "(1, 0, 8)")), "1 to 1024 layers"},
		"many layers":     {npy(head("|u1", "False", "(0, 2147483647, 8)")), "1 to 1024 layers"},
		"too large":       {npy(head("<i8", "False", "(2147483647, 1024, 16384)")), "larger than"},
		"cut off":         {npy(head("|u1", "False", "(2, 1, 2)"), 1, 2, 3), "3 of 4 bytes"},
		"too long":        {npy(head("|u1", "False", "(1, 1, 2)"), 1, 2, 3), "more than the 2 bytes"},
	} {
		if _, err := ReadNPY(bytes.NewReader(c.file), 1<<20); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestHeadersThatOthersWrite(t *testing.T) {
	for _, h := range []string{
		`{"shape":(1,1,2),"fortran_order":False,"descr":"|u1"}`,
		"{'descr': '|u1', 'fortran_order': True, 'shape': (1L, 1L, 2L)}   \n",
	} {
		a, err := ReadNPY(bytes.NewReader(npy(h, 5, 6)), 2)
		if err != nil || a.ID(0, 0, 0) != 5 || a.ID(0, 0, 1) != 6 {
			t.Errorf("%s: %v", h, err)
		}
	}
}

func TestNegativeAndHugeIDsStayOutOfRange(t *testing.T) {
	for name, file := range map[string][]byte{
		"i1": npy(head("|i1", "False", "(1, 1, 2)"), 0xff, 3),
		"i2": npy(head(">i2", "False", "(1, 1, 2)"), 0xff, 0xfe, 0, 3),
		"u8": npy(head("<u8", "False", "(1, 1, 2)"), 0, 0, 0, 0, 0, 0, 0, 0x80, 3, 0, 0, 0, 0, 0, 0, 0),
		"u4": npy(head("<u4", "False", "(1, 1, 2)"), 0xff, 0xff, 0xff, 0xff, 3, 0, 0, 0),
	} {
		a, err := ReadNPY(bytes.NewReader(file), 1<<10)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		l := NewLoad(0)
		if err := l.Add(a); err != nil {
			t.Fatal(err)
		}
		if n, _ := l.Experts(); l.OutOfRange != 1 || n != 4 || !reflect.DeepEqual(l.Layer(0), []int64{0, 0, 0, 1}) {
			t.Errorf("%s: %d out of range, %d experts, %v", name, l.OutOfRange, n, l.Layer(0))
		}
	}
}

type figures struct {
	Counts      []int64
	Entropy     float64 `json:"entropy_bits"`
	Evenness    float64 `json:"entropy_normalised"`
	MaxOverMean float64 `json:"max_over_mean"`
	CV          float64
	TopShare    float64 `json:"top_k_share"`
	Unused      int     `json:"unused_experts"`
	Busiest     int     `json:"busiest_expert"`
	Choices     int64
	EP4, EP3    *Imbalance
}

func (f *figures) check(t *testing.T, name string, b Balance) {
	t.Helper()
	if b.Choices != f.Choices || b.Unused != f.Unused || *b.Busiest != f.Busiest {
		t.Errorf("%s: %d choices, %d unused, busiest %d; expected %d, %d, %d", name, b.Choices, b.Unused, *b.Busiest, f.Choices, f.Unused, f.Busiest)
	}
	for i, c := range [][2]float64{{*b.Entropy, f.Entropy}, {*b.Evenness, f.Evenness}, {*b.MaxOverMean, f.MaxOverMean}, {*b.CV, f.CV}, {*b.TopShare, f.TopShare}} {
		if math.Abs(c[0]-c[1]) > 1e-12*max(1, c[1]) {
			t.Errorf("%s: figure %d is %v, expected %v", name, i, c[0], c[1])
		}
	}
}

func sameLoad(t *testing.T, name string, got Imbalance, want *Imbalance) {
	t.Helper()
	if !reflect.DeepEqual(got.Ranks, want.Ranks) || math.Abs(*got.MaxOverMean-*want.MaxOverMean) > 1e-12 || math.Abs(*got.CV-*want.CV) > 1e-12 {
		t.Errorf("%s: %v %v, expected %v %v", name, got.Ranks, *got.MaxOverMean, want.Ranks, *want.MaxOverMean)
	}
}

// recorded reads the recorded responses.
func recorded(t *testing.T, experts int, names ...string) (*Load, []FileReport) {
	t.Helper()
	var paths []string
	for _, n := range names {
		paths = append(paths, filepath.Join("..", "..", "testdata", "experts", n))
	}
	l := NewLoad(experts)
	files, err := ReadFiles(t.Context(), paths, l)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if len(f.Problems) > 0 {
			t.Fatalf("%s: %q", f.Path, f.Problems)
		}
	}
	return l, files
}

func TestRecordedResponsesAgainstNumPy(t *testing.T) {
	var want struct {
		Tokens   []int64
		ZeroRows int64     `json:"zero_rows"`
		ByLayer  []figures `json:"by_layer"`
		All      figures   `json:"all_layers"`
	}
	readJSON(t, "expected.json", &want)
	l, files := recorded(t, 128, "response0.json", "response1.json")
	if files[0].Tokens != want.Tokens[0] || files[1].Tokens != want.Tokens[1] || l.Layers != 48 || l.TopK != 8 {
		t.Fatalf("%+v, %d layers, top %d", files, l.Layers, l.TopK)
	}
	four, err := Contiguous(128, 4)
	if err != nil {
		t.Fatal(err)
	}
	three, err := Contiguous(128, 3)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReport(l, files, &four)
	if r.ZeroRows != want.ZeroRows || r.RepeatedRows != 0 || r.OutOfRange != 0 || len(r.Unrouted) != 0 || r.ExpertsFrom != "given" {
		t.Errorf("zero rows %d, repeated %d, out of range %d", r.ZeroRows, r.RepeatedRows, r.OutOfRange)
	}
	for i, f := range want.ByLayer {
		if !reflect.DeepEqual(r.Layer[i].Counts, f.Counts) || r.Layer[i].Tokens != l.Tokens {
			t.Errorf("layer %d: counts differ", i)
		}
		f.check(t, "layer", r.Layer[i].Balance)
		sameLoad(t, "four ranks", *r.Layer[i].EP, f.EP4)
		sameLoad(t, "three ranks", three.Over(i, r.Layer[i].Counts), f.EP3)
	}
	want.All.check(t, "all", r.All.Balance)
	sameLoad(t, "all", *r.All.EP, want.All.EP4)
}
