package compare

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"opprof/engine/record"
	"opprof/engine/rundir"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// value is one step of a test: its cell and its period.
type value struct {
	key    Key
	ns     int64
	tokens int64
}

func tallied(values []value) *tally {
	t := newTally(firstShift)
	for i, v := range values {
		t.add(v.key, int64(i), v.ns, v.tokens)
	}
	t.settle()
	return t
}

func reading(name string, values []value) *Reading {
	return &Reading{name: name, run: &rundir.Run{ID: name, Path: name}, steps: tallied(values)}
}

func keyN(n int) Key { return Key{Graph: record.GraphFull, Bucket: int64(8 * n), Decode: int8(n)} }

func drawValues(t *rapid.T, name string, most int) []value {
	kinds := rapid.IntRange(1, 6).Draw(t, name+" kinds")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) value {
		k := rapid.IntRange(1, kinds).Draw(t, "kind")
		return value{keyN(k), rapid.Int64Range(1, 50_000_000).Draw(t, "ns"), int64(k)}
	}), 0, most).Draw(t, name)
}

// What the parts are, computed the plain way.
func TestDecompositionSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		va, vb := drawValues(t, "a", 300), drawValues(t, "b", 300)
		c := Compare(reading("a", va), reading("b", vb))
		o := &c.Overall
		scale := 1.0
		if c.A.MeanNS != nil {
			scale += *c.A.MeanNS
		}
		if c.B.MeanNS != nil {
			scale += *c.B.MeanNS
		}
		if len(va) > 0 && len(vb) > 0 {
			if want := meanOf(vb) - meanOf(va); math.Abs(o.RawNS-want) > 1e-9*scale {
				t.Fatalf("raw difference %g, want %g", o.RawNS, want)
			}
			if sum := o.SpeedNS + o.MixNS + o.UnmatchedNS; math.Abs(sum-o.RawNS) > 1e-9*scale {
				t.Fatalf("parts sum to %g, not to %g", sum, o.RawNS)
			}
		}
		var weight, parts float64
		for i := range c.Cells {
			weight += c.Cells[i].Weight
			if p := c.Cells[i].PartNS; p != nil {
				parts += *p
			}
		}
		if math.Abs(parts-o.SpeedNS) > 1e-9*scale {
			t.Fatalf("the cells' parts sum to %g, not to %g", parts, o.SpeedNS)
		}
		if want := float64(min(c.Support.Cells, 1)); math.Abs(weight-want) > 1e-12 || math.Abs(o.WeightSum-want) > 1e-12 {
			t.Fatalf("weights sum to %g and %g, want %g", weight, o.WeightSum, want)
		}
	})
}

func meanOf(values []value) float64 {
	var sum float64
	for _, v := range values {
		sum += float64(v.ns)
	}
	return sum / float64(len(values))
}

// The mean and the difference at equal composition are those of their definition.
func TestEqualCompositionIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		va, vb := drawValues(t, "a", 200), drawValues(t, "b", 200)
		if len(va) == 0 || len(vb) == 0 {
			return
		}
		byKey := func(values []value) map[Key][]value {
			out := map[Key][]value{}
			for _, v := range values {
				out[v.key] = append(out[v.key], v)
			}
			return out
		}
		ka, kb := byKey(va), byKey(vb)
		var overlap, a, b float64
		for k := range ka {
			w := min(float64(len(ka[k]))/float64(len(va)), float64(len(kb[k]))/float64(len(vb)))
			if w > 0 {
				overlap, a, b = overlap+w, a+w*meanOf(ka[k]), b+w*meanOf(kb[k])
			}
		}
		c := Compare(reading("a", va), reading("b", vb))
		if math.Abs(c.Support.Distance-(1-overlap)) > 1e-9 {
			t.Fatalf("distance %g, want %g", c.Support.Distance, 1-overlap)
		}
		if overlap == 0 {
			if c.Overall.Equal != nil {
				t.Fatal("a difference without a common cell")
			}
			return
		}
		if want := 100 * (b/a - 1); math.Abs(c.Overall.Equal.Pct-want) > 1e-6*(1+math.Abs(want)) {
			t.Fatalf("difference %g %%, want %g", c.Overall.Equal.Pct, want)
		}
	})
}

// Exchanging A and B mirrors every figure.
func TestSwapMirrors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		va, vb := drawValues(t, "a", 400), drawValues(t, "b", 400)
		ab, ba := Compare(reading("a", va), reading("b", vb)), Compare(reading("b", vb), reading("a", va))
		for _, p := range [][2]float64{{ab.Overall.RawNS, ba.Overall.RawNS}, {ab.Overall.SpeedNS, ba.Overall.SpeedNS}, {ab.Overall.MixNS, ba.Overall.MixNS},
			{ab.Overall.UnmatchedNS, ba.Overall.UnmatchedNS}} {
			if math.Abs(p[0]+p[1]) > 1e-6 {
				t.Fatalf("%g and %g do not mirror", p[0], p[1])
			}
		}
		mirrored(t, ab.Overall.Equal, ba.Overall.Equal)
		if len(ab.Cells) != len(ba.Cells) || ab.Support.Judged != ba.Support.Judged {
			t.Fatalf("%d cells, %d judged; %d, %d", len(ab.Cells), ab.Support.Judged, len(ba.Cells), ba.Support.Judged)
		}
		for i := range ab.Cells {
			x := &ab.Cells[i]
			y := &ba.Cells[slices.IndexFunc(ba.Cells, func(r CellRow) bool { return r.key == x.key })]
			mirrored(t, x.Change, y.Change)
			if x.StepsA != y.StepsB || x.Judged != y.Judged || x.Moved != y.Moved || x.Weight != y.Weight {
				t.Fatalf("%+v and %+v do not mirror", x, y)
			}
		}
		turned := map[string]string{Slower: Faster, Faster: Slower}
		if want, ok := turned[ab.Verdict.Word]; ok && ba.Verdict.Word != want || !ok && ba.Verdict.Word != ab.Verdict.Word {
			t.Fatalf("%q and %q", ab.Verdict.Word, ba.Verdict.Word)
		}
	})
}

func mirrored(t *rapid.T, a, b *Change) {
	if (a == nil) != (b == nil) {
		t.Fatalf("%v and %v", a, b)
	}
	if a == nil {
		return
	}
	same := func(x, y float64) {
		// 1+x/100 is the inverse of 1+y/100, as far as the digits go that are left near -100 %.
		p, digits := (1+x/100)*(1+y/100), 1e-13*(1+max(x, y)/100)
		if math.Abs(p-1) > 1e-9+digits && !math.IsNaN(p) {
			t.Fatalf("%g %% and %g %% do not mirror", x, y)
		}
	}
	same(a.Pct, b.Pct)
	if (a.Low == nil) != (b.Low == nil) {
		t.Fatalf("%v and %v", a, b)
	}
	if a.Low != nil {
		same(*a.Low, *b.High)
		same(*a.High, *b.Low)
	}
}

// The order of steps within a block changes nothing.
func TestOrderWithinBlocksChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		va, vb := drawValues(t, "a", 600), drawValues(t, "b", 100)
		shuffled := slices.Clone(va)
		for from := 0; from < len(shuffled); from += 1 << firstShift {
			part := shuffled[from:min(from+1<<firstShift, len(shuffled))]
			perm := rapid.Permutation(part).Draw(t, "block")
			copy(part, perm)
		}
		x, y := Compare(reading("a", va), reading("b", vb)), Compare(reading("a", shuffled), reading("b", vb))
		if a, b := asJSON(t, x), asJSON(t, y); !bytes.Equal(a, b) {
			t.Fatalf("%s\n%s", a, b)
		}
	})
}

func asJSON(t *rapid.T, c *Comparison) []byte {
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A run against itself differs by nothing, and its interval holds that.
func TestSameRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawValues(t, "a", 1000)
		c := Compare(reading("a", v), reading("a", v))
		o := &c.Overall
		if o.RawNS != 0 || o.SpeedNS != 0 || o.MixNS != 0 || o.UnmatchedNS != 0 {
			t.Fatalf("%+v", o)
		}
		if len(v) == 0 {
			return
		}
		if c.Support.Distance > 1e-9 {
			t.Fatalf("%+v", c.Support)
		}
		if o.Equal.Pct != 0 || o.Equal.excludesZero() || c.Verdict.Word != Same && c.Verdict.Word != TooShort && c.Verdict.Word != Unlike {
			t.Fatalf("%v %+v", o.Equal, c.Verdict)
		}
		for i := range c.Cells {
			if r := &c.Cells[i]; r.Change.Pct != 0 || r.Change.excludesZero() || r.Moved {
				t.Fatalf("%+v", r)
			}
		}
	})
}

// simulated is a run whose mix drifts and whose periods carry a slow disturbance: an autoregression with the given correlation from step to
// step. scale multiplies the periods.
func simulated(rng *rand.Rand, n int, correlation, scale float64) []value {
	out := make([]value, n)
	var slow float64
	kind := 1
	for i := range out {
		if rng.IntN(20) == 0 {
			kind = 1 + rng.IntN(4)
		}
		slow = correlation*slow + math.Sqrt(1-correlation*correlation)*rng.NormFloat64()
		base := float64(8+2*kind) * 1e6
		out[i] = value{keyN(kind), int64(base * scale * (1 + 0.03*slow + 0.02*rng.NormFloat64())), int64(kind)}
	}
	return out
}

// Intervals hold the true difference about as often as they say, whether or not steps are correlated; the seed is fixed.
func TestCoverage(t *testing.T) {
	const rounds = 400
	for _, c := range []struct {
		name        string
		steps       int
		correlation float64
		effect      float64
		least       float64
	}{
		{"independent", 4000, 0, 0.02, 0.92},
		{"short", 1000, 0.5, 0.02, 0.90},
		{"correlated", 8000, 0.9, 0, 0.91},
		{"strongly correlated", 16000, 0.98, 0.01, 0.90},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(8, 15))
			held, naive, cells, cellsHeld := 0, 0, 0, 0
			for range rounds {
				a, b := simulated(rng, c.steps, c.correlation, 1), simulated(rng, c.steps, c.correlation, 1+c.effect)
				m := newMatch(tallied(a), tallied(b))
				if holds(m.overall().Equal, 100*c.effect) {
					held++
				}
				for _, r := range m.rows() {
					if r.Judged {
						cells++
						if holds(r.Change, 100*c.effect) {
							cellsHeld++
						}
					}
				}
				m.levelA, m.levelB = 0, 0 // what the longer blocks are for
				if holds(m.overall().Equal, 100*c.effect) {
					naive++
				}
			}
			t.Logf("held %.3f, %.3f with the shortest blocks", float64(held)/rounds, float64(naive)/rounds)
			if share := float64(cellsHeld) / float64(cells); cells < 2*rounds || share < c.least || share > 0.985 {
				t.Errorf("the intervals of %d cells hold it in %.3f", cells, share)
			}
			if share := float64(held) / rounds; share < c.least || share > 0.98 {
				t.Errorf("the interval holds the true difference in %.3f of the rounds", share)
			}
		})
	}
}

func holds(c *Change, pct float64) bool { return c.Low != nil && *c.Low <= pct && pct <= *c.High }

// A difference of the mix alone is not taken for one of speed, and one of speed is found under another mix.
func TestMixIsNotSpeed(t *testing.T) {
	run := func(heavy, scale float64) []value {
		rng := rand.New(rand.NewPCG(4, 2))
		var out []value
		for range 6000 {
			k := 1
			if rng.Float64() < heavy {
				k = 3
			}
			out = append(out, value{keyN(k), int64(float64(5*k) * 1e6 * scale * (1 + 0.01*rng.NormFloat64())), int64(k)})
		}
		return out
	}
	light := reading("light", run(0.2, 1))
	c := Compare(light, reading("heavy", run(0.6, 1)))
	if c.Verdict.Word != Same || *c.Overall.ExplainedPct < 98 || *c.Overall.ExplainedPct > 102 || c.Overall.Raw.Pct < 40 {
		t.Errorf("%+v %+v", c.Verdict, c.Overall)
	}
	c = Compare(light, reading("heavy and slow", run(0.6, 1.03)))
	if c.Verdict.Word != Slower || math.Abs(c.Overall.Equal.Pct-3) > 0.3 || !c.Cells[0].Moved {
		t.Errorf("%+v %+v", c.Verdict, c.Overall.Equal)
	}
}

// Where a heavier mix hides a higher speed, the share of a small difference is no figure to show.
func TestPartsPullApart(t *testing.T) {
	run := func(k, n int, ns int64) (out []value) {
		for range n {
			out = append(out, value{keyN(k), ns, int64(k)})
		}
		return out
	}
	a := reading("light", append(run(1, 3000, 5e6), run(3, 1000, 15e6)...))
	for _, c := range []struct {
		light, heavy int64
		says         string
	}{
		{5e6, 15e6, "composition makes 100.0 % of the plain difference"},
		{6e6, 18e6, "composition makes 61.1 % of the plain difference"},                                  // 0.25 x (16.5 - 5.5) of 12 - 7.5
		{39e5, 117e5, "speed and composition pull apart, and each makes more than the plain difference"}, // 7.8 ms against 7.5
		{36e5, 108e5, "speed and composition pull apart, and each makes more than the plain difference"}, // 7.2 ms against 7.5
	} {
		o := Compare(a, reading("heavy", append(run(1, 2000, c.light), run(3, 2000, c.heavy)...)))
		if notes := o.overallTable().Notes; !slices.Contains(notes, c.says) {
			t.Errorf("%d and %d: %q", c.light, c.heavy, notes)
		}
	}
}

// What cannot be compared is not judged.
func TestNotJudged(t *testing.T) {
	some := func(kind, n int) (out []value) {
		for i := range n {
			out = append(out, value{keyN(kind), int64(1e7 + i%7*1e5), int64(kind)})
		}
		return out
	}
	for _, c := range []struct {
		name string
		a, b []value
		word string
		why  string
	}{
		{"other kinds", some(1, 500), some(2, 500), Unlike, whyOnlyA},
		{"nothing", some(1, 500), nil, TooShort, whyOnlyA},
		{"few steps", some(1, 500), some(1, 19), TooShort, whyFew},
		{"few blocks", some(1, 500), some(1, 60), TooShort, whyBlocks},
		{"little in common", slices.Concat(some(1, 300), some(2, 2000)), slices.Concat(some(1, 300), some(3, 2000)), Unlike, ""},
	} {
		got := Compare(reading("a", c.a), reading("b", c.b))
		if got.Verdict.Word != c.word || got.Cells[0].Why != c.why {
			t.Errorf("%s: %+v, %q", c.name, got.Verdict, got.Cells[0].Why)
		}
	}
	a, b := some(1, 500), some(1, 500)
	for i := range b {
		b[i].tokens = 2
	}
	if got := Compare(reading("a", a), reading("b", b)); got.Cells[0].Why != whyUneven || got.Support.Uneven != 1 || got.Verdict.Word != Unlike {
		t.Errorf("uneven: %+v %+v", got.Cells[0], got.Verdict)
	}
}
