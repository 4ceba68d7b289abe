package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"opprof/campaign/bench"
	"opprof/campaign/gate"
	"opprof/campaign/plan"
	"opprof/campaign/stat"
)

// noise is a seeded stream of standard normal numbers.
func noise(seed uint64) func() float64 {
	return func() float64 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return stat.NormalQuantile((float64(seed>>11) + 0.5) / (1 << 53))
	}
}

func campaign(t testing.TB, keys string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse("demo.toml", "[server]\nmodel = 'm'\n[campaign]\n"+keys+"\n[campaign.load.a]\n")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// result is what a load measured whose times are slower by a factor; changes replace members of its JSON.
func result(t testing.TB, slower float64, changes map[string]any) *bench.Result {
	t.Helper()
	v := map[string]any{"completed": 200, "failed": 0, "duration": 10 * slower, "total_input_tokens": 1000, "total_output_tokens": 2000, "output_throughput": 200 / slower,
		"p50_ttft_ms": 20 * slower, "p95_ttft_ms": 40 * slower, "p50_tpot_ms": 10 * slower, "p95_tpot_ms": 12 * slower}
	for name, value := range changes {
		v[name] = value
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	r, err := bench.Read(bytes.NewReader(text), "r", "vllm")
	if err != nil {
		t.Fatal(err)
	}
	return r[0]
}

// measured runs all measured runs of a plan; slower gives the factor of each.
func measured(t testing.TB, p *plan.Plan, slower func(plan.Run) float64) *Input {
	t.Helper()
	in := &Input{Plan: p}
	for _, r := range p.Runs(false) {
		if r.Kind == plan.Measured {
			in.Runs = append(in.Runs, Run{Run: r, Result: result(t, slower(r), nil)})
		}
	}
	return in
}

// costs makes the on arm slower by a factor, with a little noise.
func costs(factor, sd float64, seed uint64) func(plan.Run) float64 {
	draw := noise(seed)
	return func(r plan.Run) float64 {
		v := math.Exp(sd * draw())
		if r.Arm == plan.On {
			v *= factor
		}
		return v
	}
}

func TestVerdictsOfKnownEffects(t *testing.T) {
	p := campaign(t, "")
	for name, c := range map[string]struct {
		slower  func(plan.Run) float64
		verdict string
	}{
		"no cost":     {costs(1, 0.001, 1), gate.Pass},
		"a clear one": {costs(1.06, 0.001, 1), gate.Fail},
		"the order":   {func(r plan.Run) float64 { return 1 + 0.04*float64(r.Slot) }, gate.Undecided},
	} {
		r := New(measured(t, p, c.slower))
		if r.Verdict != c.verdict || len(r.Cells) != 1 || r.Cells[0].Decision.Metrics[0].N != 6 || !strings.HasPrefix(r.Sentence, c.verdict+":") {
			t.Errorf("%s: %s, %s", name, r.Verdict, r.Sentence)
		}
	}
	if r := New(&Input{Plan: p}); r.Verdict != gate.Undecided || !strings.Contains(r.Sentence, "no pair counts") {
		t.Errorf("nothing ran: %s, %s", r.Verdict, r.Sentence)
	}
}

// Where noise makes the order effect, the report says so beside the verdict; where the order makes it, it does not.
func TestNoiseIsToldFromOrder(t *testing.T) {
	p := campaign(t, "")
	for name, c := range map[string]struct {
		slower func(plan.Run) float64
		chance bool
	}{
		"noise": {costs(1, 0.5, 3), true},
		"order": {func(r plan.Run) float64 { return 1 + 0.04*float64(r.Slot) }, false},
		"quiet": {costs(1, 0.001, 1), false},
	} {
		r := New(measured(t, p, c.slower))
		if got := strings.Contains(strings.Join(r.Cells[0].Warnings, "|"), gate.ByChance); got != c.chance {
			t.Errorf("%s: %s, %q", name, r.Verdict, r.Cells[0].Warnings)
		}
	}
}

// Of simulated campaigns with a true cost of 3 % hardly any passes, and of those without a cost hardly any fails.
func TestSimulatedCampaigns(t *testing.T) {
	p := campaign(t, "")
	const campaigns = 60
	passed, failed := 0, 0
	for seed := range uint64(campaigns) {
		if New(measured(t, p, costs(1.03, 0.005, seed+1))).Verdict == gate.Pass {
			passed++
		}
		if New(measured(t, p, costs(1, 0.005, seed+500))).Verdict == gate.Fail {
			failed++
		}
	}
	if passed > 4 || failed > 0 {
		t.Errorf("of %d campaigns %d passed with a cost of 3 %%, and %d failed without one", campaigns, passed, failed)
	}
}

func TestPairsThatDoNotCount(t *testing.T) {
	p := campaign(t, "second_look_pairs = 2")
	for name, c := range map[string]struct {
		change func(*Input)
		void   string
	}{
		"failures":           {func(in *Input) { in.Runs[0].Result = result(t, 1, map[string]any{"failed": 2}) }, "off: 2 requests failed"},
		"few requests":       {func(in *Input) { in.Runs[1].Result = result(t, 1, map[string]any{"completed": 99}) }, "on: 99 requests finished: expected at least 100"},
		"other tokens":       {func(in *Input) { in.Runs[1].Result = result(t, 1, map[string]any{"total_output_tokens": 1999}) }, "2000 and 1999 output tokens"},
		"a metric is absent": {func(in *Input) { in.Runs[0].Result = result(t, 1, map[string]any{"p95_tpot_ms": "x"}) }, "the results have no p95_tpot_ms"},
		"no results":         {func(in *Input) { in.Runs[0].Result = nil }, "off: no results"},
		"half of it":         {func(in *Input) { in.Runs = slices.Delete(in.Runs, 1, 2) }, "on: not run"},
		"said by the runner": {func(in *Input) { in.Runs[1].Void = "cold compilation" }, "on: cold compilation"},
		"a check":            {func(in *Input) { in.Runs[1].Checks = []Check{{"kv_sum", true, ""}, {"index_gap", false, "at 7"}} }, "on: check index_gap: at 7"},
		"drops":              {func(in *Input) { n := int64(3); in.Runs[1].Layer1 = &Layer1{Dropped: &n} }, "dropped 3 records"},
	} {
		in := measured(t, p, costs(1, 0.001, 3))
		c.change(in)
		r := New(in)
		first := r.Cells[0].Pairs[0]
		if !strings.Contains(first.Void, c.void) || r.Cells[0].Decision.Metrics[0].N != 5 || !slices.Contains(r.Cells[0].Warnings, "5 of 6 planned pairs count") {
			t.Errorf("%s: %q, %d pairs, %q", name, first.Void, r.Cells[0].Decision.Metrics[0].N, r.Cells[0].Warnings)
		}
		if r.Cells[0].Decision.Alpha != gate.SecondLookAlpha {
			t.Errorf("%s: two looks are declared, and the bound is at %v", name, r.Cells[0].Decision.Alpha)
		}
	}
}

func TestAnArmThatRanAgain(t *testing.T) {
	p := campaign(t, "")
	in := measured(t, p, costs(1, 0.001, 3))
	again := in.Runs[0]
	in.Runs[0].Result = nil
	in.Runs = slices.Insert(in.Runs, 1, again)
	if r := New(in); r.Cells[0].Pairs[0].Void != "" || r.Cells[0].Decision.Metrics[0].N != 6 {
		t.Errorf("%+v", r.Cells[0].Pairs[0])
	}
}

func TestCellsAreJudgedEachForItself(t *testing.T) {
	p := campaign(t, "tensor_parallel = [1, 2]")
	r := New(measured(t, p, func(r plan.Run) float64 {
		return costs(map[int]float64{1: 1, 2: 1.08}[r.Cell.TensorParallel], 0.001, uint64(r.Index)+1)(r)
	}))
	if len(r.Cells) != 2 || r.Cells[0].Decision.Verdict != gate.Pass || r.Cells[1].Decision.Verdict != gate.Fail || r.Verdict != gate.Fail || !strings.Contains(r.Sentence, "tp2") {
		t.Errorf("%s %s: %s", r.Cells[0].Decision.Verdict, r.Cells[1].Decision.Verdict, r.Sentence)
	}
}

func TestUnsteadyMachinesAreSaid(t *testing.T) {
	r := New(measured(t, campaign(t, ""), costs(1, 0.05, 9)))
	if !strings.Contains(strings.Join(r.Cells[0].Warnings, "|"), "between the off runs alone") {
		t.Errorf("%q", r.Cells[0].Warnings)
	}
}

func TestCSVGivesTheSameVerdict(t *testing.T) {
	for seed := range uint64(10) {
		r := New(measured(t, campaign(t, ""), costs(1+float64(seed)/200, 0.01, seed+1)))
		var b bytes.Buffer
		if err := r.Cells[0].WriteCSV(&b); err != nil {
			t.Fatal(err)
		}
		metrics, err := gate.ReadCSV(&b, "r.csv")
		if err != nil {
			t.Fatal(err)
		}
		again := gate.Decide(metrics, gate.Options{})
		if have, want := text(t, again), text(t, r.Cells[0].Decision); have != want {
			t.Errorf("%s\n%s", have, want)
		}
	}
	if got := cell("=1+1"); got != "'=1+1" {
		t.Errorf("%q", got)
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCostIsThatOfThePairsThatCount(t *testing.T) {
	in := furnished(t, measured(t, campaign(t, ""), costs(1, 0.001, 1)))
	dropped := int64(5)
	in.Runs[1].Layer1.Dropped = &dropped // voids its pair
	var off, most float64
	for _, r := range in.Runs[2:] {
		if r.Arm == plan.Off {
			off += *r.CPU.Engine / 5
		} else {
			most = max(most, float64(*r.Layer1.QueueHigh))
		}
	}
	c := New(in).Cells[0]
	if got := *c.Cost[0].Off; math.Abs(got-off) > 1e-12 || *c.Cost[4].On != most || *c.Cost[5].On != 0 || c.Cost[4].Off != nil {
		t.Errorf("%v, want %v; queue %v, want %v; dropped %v", got, off, *c.Cost[4].On, most, *c.Cost[4].On)
	}
}

func TestMachines(t *testing.T) {
	in := measured(t, campaign(t, ""), costs(1.01, 0.003, 2))
	for i := range in.Runs {
		in.Runs[i].Machine = &Machine{Name: []string{"a", "b"}[in.Runs[i].Pair%2]}
	}
	c := New(in).Cells[0]
	if len(c.Machines) != 2 || len(c.Machines[0].Pairs) != 3 {
		t.Fatalf("%+v", c.Machines)
	}
	for _, m := range c.Decision.Metrics {
		// Both machines have as many pairs, so the mean of their means is the point.
		both := math.Log1p(c.Machines[0].Pct[m.Name]/100) + math.Log1p(c.Machines[1].Pct[m.Name]/100)
		if got := 100 * math.Expm1(both/2); math.Abs(got-*m.PointPct) > 1e-9 {
			t.Errorf("%s: machines give %v, all pairs %v", m.Name, got, *m.PointPct)
		}
	}
	in.Runs[0].Machine = &Machine{Name: "c"}
	if void := New(in).Cells[0].Pairs[0].Void; !strings.Contains(void, "different machines: c and b") {
		t.Errorf("%q", void)
	}
}

func TestTextsOfBothArms(t *testing.T) {
	texts := func(change int) map[string]any {
		out := make([]string, 200)
		for i := range out {
			out[i] = fmt.Sprint("text ", i)
		}
		if change >= 0 {
			out[change] = "another"
		}
		return map[string]any{"generated_texts": out, "errors": make([]string, 200), "input_lens": slices.Repeat([]int{5}, 200), "output_lens": slices.Repeat([]int{10}, 200),
			"ttfts": slices.Repeat([]float64{0.02}, 200), "itls": slices.Repeat([][]float64{slices.Repeat([]float64{0.01}, 9)}, 200)}
	}
	for keys, why := range map[string]string{"max_concurrency = 1": "one request at a time", "": ""} {
		p, err := plan.Parse("demo.toml", "[server]\nmodel = 'm'\n[campaign]\n[campaign.load.a]\n"+keys)
		if err != nil {
			t.Fatal(err)
		}
		in := measured(t, p, costs(1, 0.001, 1))
		in.Runs[0].Result, in.Runs[1].Result = result(t, 1, texts(-1)), result(t, 1, texts(7))
		in.Runs[2].Result, in.Runs[3].Result = result(t, 1, texts(7)), result(t, 1, texts(7))
		c := New(in).Cells[0]
		if c.Same != (Same{Pairs: 2, Alike: 1, Expected: why}) || !strings.Contains(strings.Join(c.Warnings, "|"), "1 of 200 generated texts differ") {
			t.Errorf("%q: %+v, %q", keys, c.Same, c.Warnings)
		}
	}
}

func TestNothingIsDecidedWhilePairsAreToCome(t *testing.T) {
	in := measured(t, campaign(t, "pairs = 8"), costs(1.06, 0.001, 1))
	in.Runs, in.Left = in.Runs[:12], 2
	r := New(in)
	if r.Verdict != gate.Undecided || r.Cells[0].Decision.Verdict != gate.Undecided || !strings.Contains(r.Sentence, "still to come: 2") ||
		!strings.Contains(r.Cells[0].Decision.Reasons[0], "2 of 8 pairs") {
		t.Errorf("%s, %s: %s", r.Verdict, r.Cells[0].Decision.Verdict, r.Sentence)
	}
	in.Left = 0
	if r := New(in); r.Verdict != gate.Fail {
		t.Errorf("%s once no pair is to come", r.Verdict)
	}
}

// A folder that is not whole decides nothing, whatever the pairs that are left say.
func TestDamageDecidesNothing(t *testing.T) {
	p := campaign(t, "")
	in := measured(t, p, costs(1, 0.001, 1))
	if r := New(in); r.Verdict != gate.Pass {
		t.Fatalf("whole: %s", r.Sentence)
	}
	in.Damage = []string{"pair 3 is gone"}
	if r := New(in); r.Verdict != gate.Undecided || !strings.Contains(r.Sentence, "pair 3 is gone") || r.Deviations[0] != "pair 3 is gone" {
		t.Errorf("%s: %s, %q", r.Verdict, r.Sentence, r.Deviations)
	}
}

// One pair has regressions but no interval, and fewer than five have none that may be quoted.
func TestFewPairsQuoteNothing(t *testing.T) {
	for pairs, want := range map[int]string{1: "too few pairs count (1, a verdict needs 5)", 4: "too few pairs count (4, a verdict needs 5)", 5: " over 5 pairs; "} {
		in := measured(t, campaign(t, ""), costs(1.01, 0.003, 2))
		in.Runs = in.Runs[:2*pairs]
		r := New(in)
		if !strings.Contains(r.Sentence, want) || (pairs < 5) != (r.Verdict == gate.Undecided && !strings.Contains(r.Sentence, "regresses")) {
			t.Errorf("%d pairs, %s: %s", pairs, r.Verdict, r.Sentence)
		}
		remarks := strings.Join(r.Cells[0].remarks(), "|")
		if pairs == 1 && (strings.Count(remarks, "1 of at least 5 pairs") != 1 || !strings.Contains(remarks, "every metric: 1 of at least 5 pairs")) {
			t.Errorf("%s", remarks)
		}
	}
}

// A dash for the pairs needed is explained below its table.
func TestADashForPairsNeededIsExplained(t *testing.T) {
	d := New(measured(t, campaign(t, ""), costs(1.06, 0.001, 1))).Cells[0].Decision
	table := metricTable(&d)
	if row := table.Rows[0]; row[len(row)-2] != "-" || !strings.Contains(table.Note, "where no number of pairs would do") {
		t.Errorf("%q: %s", row, table.Note)
	}
}
