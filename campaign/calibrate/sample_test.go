package calibrate

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opprof/engine/record"
	"opprof/traces/capture"
	"opprof/traces/family"
	"opprof/traces/join"
	"opprof/traces/rank"
)

// window makes a joined window of one rank, one step for each busy time.
func window(name string, busy ...int64) Named {
	g := join.Group{Ranks: []*rank.Breakdown{{Mode: rank.ModeGraphs}}}
	w := join.Window{Group: g, Join: join.Joined{Method: join.ByMarker}}
	for i, ns := range busy {
		r := &rank.Iteration{Total: rank.Use{UnionNS: ns, SumNS: ns + 1}}
		r.Families[family.Attention].UnionNS = ns
		w.Iterations = append(w.Iterations, join.Iteration{Warmup: i < 1, Ranks: []*rank.Iteration{r}, CriticalNS: ns,
			Step: &join.Step{Index: int64(i), DecodeRequests: 4, DecodeTokens: 4, Graph: "FULL", BucketTokens: 8}})
	}
	return Named{name, w}
}

// Two ranks do the same work; the one with a nanosecond more is launched first and spins for the other, or its waiting is not known.
func TestWaitingIsNoWork(t *testing.T) {
	for _, c := range []struct {
		waits            []int64
		busy, collective float64
	}{
		{[]int64{0, 130}, 14, 3},
		{[]int64{130, 0}, 144, 133}, // the other's waiting is none of this rank's
		{[]int64{0, 500}, 11, 0},    // never more than there were collectives
		{[]int64{-1, -1}, 144, 133},
		{nil, 144, 133},
	} {
		w := window("two", 9, 11)
		it := &w.Iterations[1]
		r := it.Ranks[0]
		r.Families[family.Collective].UnionNS, r.Total.UnionNS = 133, 144
		it.Ranks, it.Slowest, it.Waits = []*rank.Iteration{{Total: rank.Use{UnionNS: 14, SumNS: 14}}, r}, 1, c.waits
		if s := sample(it); s.BusyNS != c.busy || s.FamilyNS[family.Collective] != c.collective || s.FamilyNS[family.Attention] != 11 {
			t.Errorf("%v: busy %v, collectives %v", c.waits, s.BusyNS, s.FamilyNS[family.Collective])
		}
	}
}

func TestWhatTeachesNothingIsLeftOutAndSaid(t *testing.T) {
	good := window("good", 9, 10, 11)
	refused := window("refused", 9, 10)
	refused.Join = join.Joined{Reason: "no steps"}
	missing := window("missing", 9, 10)
	missing.Missing = []int64{1}
	cpu := window("cpu", 9, 10)
	cpu.Ranks[0].Mode = rank.ModeCPU
	torn := window("torn", 9, 10, 11, 12, 13)
	torn.Iterations[1].Ranks[0] = nil
	torn.Iterations[2].Step = nil
	torn.Iterations[3].Step.Graph = ""
	short := window("short", 9)
	two := window("two", 9, 10)
	two.Ranks = append(two.Ranks, two.Ranks[0])
	for i := range two.Iterations {
		fast := &rank.Iteration{Total: rank.Use{UnionNS: 3, SumNS: 3}}
		two.Iterations[i].Ranks = append([]*rank.Iteration{fast}, two.Iterations[i].Ranks...)
		two.Iterations[i].Slowest = 1
	}
	sets, left := Samples([]Named{good, refused, missing, cpu, torn, short, two})
	if len(sets) != 2 || sets[0].Ranks != 1 || sets[1].Ranks != 2 || !slices.Equal(sets[0].Windows, []string{"good", "torn"}) || len(sets[0].Samples) != 3 {
		t.Fatalf("%+v", sets)
	}
	if s := sets[0].Samples[2]; s.Window != 1 || s.Step != 4 || s.BusyNS != 13 || s.FamilyNS[family.Attention] != 13 || s.Bucket != 8 || s.Work() != 8 {
		t.Errorf("%+v", s)
	}
	if s := sets[1].Samples[0]; s.BusyNS != 10 || s.SumNS != 14 {
		t.Errorf("of two ranks: %+v", s)
	}
	if left.WarmUp != 4 || left.Damaged != 2 || left.Unknown != 1 {
		t.Errorf("%+v", left)
	}
	for _, word := range []string{"refused: not tied to steps: no steps", "missing: 1 rank is missing", "cpu: no device", "short: no step"} {
		if !strings.Contains(strings.Join(left.Windows, "|"), word) {
			t.Errorf("%q says nothing of %q", left.Windows, word)
		}
	}
	if r := NewReport(nil, left, nil); len(r.Sets) != 0 || r.Schema != 1 {
		t.Errorf("%+v", r)
	}
}

func TestCompositions(t *testing.T) {
	s := join.Step{DecodeRequests: 3, DecodeTokens: 3, PrefillTokens: 100, PrefillRequests: 1, Graph: "NONE", BucketTokens: 128}
	s.ContextHist[0], s.ContextHist[3], s.ContextHist[record.ContextBins-1] = 1, 2, 1
	c := composition(&s)
	if c.Work() != 103 || c.Requests != 4 || c.Context != 64+2*768+131072 || c.ContextMedian != 3 || c.MeanContext() != c.Context/4 {
		t.Errorf("%+v", c)
	}
	s.Graph = "PIECEWISE"
	if c := composition(&s); c.Work() != 128 {
		t.Errorf("%+v", c)
	}
	s.ContextHist = [record.ContextBins]int64{}
	if c := composition(&s); c.ContextMedian != -1 || c.Context != 0 || c.MeanContext() != 0 || cellOf(&c).Context != "-" {
		t.Errorf("%+v", c)
	}
	for tokens, bin := range map[float64]int{0: 0, 128: 0, 129: 1, 8192: 6, 131072: 10, 131073: 11} {
		if got := contextBin(tokens); got != bin {
			t.Errorf("context %v: bin %d, want %d", tokens, got, bin)
		}
	}
}

func TestBins(t *testing.T) {
	for _, c := range []struct {
		v, base float64
		want    string
	}{{0, 2, "0"}, {1, 2, "1"}, {2, 2, "2"}, {3, 2, "3-4"}, {4, 2, "3-4"}, {5, 2, "5-8"}, {64, 2, "33-64"}, {65, 2, "65-128"}, {2, 4, "2-4"}, {5, 4, "5-16"}, {8192, 4, "4097-16384"}} {
		if _, got := binOf(c.v, c.base); got != c.want {
			t.Errorf("%v in powers of %v: %s, want %s", c.v, c.base, got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	set := server(5, 12, 0.05, 0.01)
	rows := NewTable(set.Samples)
	var steps int
	var busy float64
	for _, r := range rows {
		steps += r.Steps
		busy += r.BusyNS * float64(r.Steps)
		var families float64
		for _, v := range r.FamilyNS {
			families += v
		}
		if r.BusyMin > r.BusyNS*(1+1e-12) || r.BusyMax < r.BusyNS*(1-1e-12) || math.Abs(families-r.BusyNS) > 1e-6*families || r.Windows > r.Steps {
			t.Errorf("%+v", r)
		}
	}
	var want float64
	for _, s := range set.Samples {
		want += s.BusyNS
	}
	if steps != len(set.Samples) || math.Abs(busy-want) > 1e-6*want {
		t.Errorf("the table holds %d steps of %d, %v ns of %v", steps, len(set.Samples), busy, want)
	}
	if !slices.IsSortedFunc(rows, func(a, b Row) int { return strings.Compare(a.Graph, b.Graph) }) {
		t.Error("rows are not sorted")
	}
}

func TestTableOnHeldOutWindows(t *testing.T) {
	same := decodeStep(40, 2000)
	set := &Set{Ranks: 1, Windows: []string{"a", "b", "c"}, Samples: []Sample{sampleOf(0, same, 1), sampleOf(0, same, 1), sampleOf(1, same, 1.1), sampleOf(2, decodeStep(3, 2000), 1)}}
	errors, missing := TableErrors(set)
	if len(errors) != 2 || missing != 1 || math.Abs(errors[0].LogErr+math.Log(1.1)) > 1e-9 || math.Abs(errors[1].LogErr-math.Log(1.1)) > 1e-9 {
		t.Errorf("%+v, %d missing", errors, missing)
	}
}

// recorded are the windows of a recording.
func recorded(t *testing.T, name string) []Named {
	t.Helper()
	root := filepath.Join("..", "..", "testdata")
	traces, err := filepath.Glob(filepath.Join(root, "traces", name, "*.zst"))
	if err != nil || len(traces) == 0 {
		t.Fatalf("no traces of %s: %v", name, err)
	}
	rules, err := family.Default()
	if err != nil {
		t.Fatal(err)
	}
	c, err := capture.Load(t.Context(), capture.Input{Traces: traces, Streams: []string{filepath.Join(root, "records", name+".jsonl.zst")}, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	var out []Named
	for i, w := range c.Windows {
		out = append(out, Named{traces[i], w})
	}
	return out
}

// The busy times of one rank are those that a separate program calculated.
func TestRecordedTimes(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "traces", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]struct {
		Iterations []struct {
			UnionNS float64 `json:"union_ns"`
		}
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	sets, left := Samples(recorded(t, "h200-tp1"))
	if len(sets) != 1 || len(sets[0].Windows) != 7 || len(sets[0].Samples) != 7*8 || left.WarmUp != 14 || left.Damaged+left.Unknown+len(left.Windows) != 0 {
		t.Fatalf("%d sets, %+v", len(sets), left)
	}
	for i, s := range sets[0].Samples {
		file := filepath.Join("h200-tp1", strings.TrimSuffix(filepath.Base(sets[0].Windows[s.Window]), ".zst"))
		if ns := want[file].Iterations[2+i%8].UnionNS; s.BusyNS != ns {
			t.Errorf("window %d, step %d: busy %v, want %v", s.Window, s.Step, s.BusyNS, ns)
		}
	}
}

// The recorded model has 128 experts of which a token picks 8: after 16 tokens 63 % of the experts' weights have been read. The calibration is
// not told that.
func TestRecordedModels(t *testing.T) {
	for name, c := range map[string]struct {
		ranks   int
		mean    float64 // largest held-out error in percent: three windows of TP2 share hardly anything
		largest float64
	}{"h200-tp1": {1, 7, 13}, "h200-tp2": {2, 15, 25}} {
		sets, left := Samples(recorded(t, name))
		q := Question{Decode: 28, Context: 3700}
		r := NewReport(sets, left, &q)
		if len(r.Sets) != 1 || r.Sets[0].Ranks != c.ranks {
			t.Fatalf("%s: %+v", name, r)
		}
		s := &r.Sets[0]
		for _, m := range s.Models {
			if m.Family == family.ExpertGEMM.String() && (m.Saturation == nil || math.Abs(*m.Saturation-16) > 1e-9) {
				t.Errorf("%s: weights are touched by %v tokens, want 16", name, m.Saturation)
			}
		}
		if s.Busy.Windows != len(s.Windows) || *s.Busy.MeanPct > c.mean || *s.Busy.MaxPct > c.largest {
			t.Errorf("%s: held-out error of busy %.1f %%, at most %.1f %%, over %d windows", name, *s.Busy.MeanPct, *s.Busy.MaxPct, s.Busy.Windows)
		}
		if s.Answer == nil || s.Answer.Busy.NS < 9e6 || s.Answer.Busy.NS > 22e6 {
			t.Errorf("%s: %+v %s", name, s.Answer, s.Refusal)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	}
}
