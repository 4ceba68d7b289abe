package join

import (
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"opprof/traces/family"
	"opprof/traces/interval"
	"opprof/traces/kineto"
	"opprof/traces/rank"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = 1_000_000

// stepsOf are steps that decode as many requests as told, submitted every 10 ms.
func stepsOf(first int64, decode ...int64) []Step {
	var out []Step
	for i, n := range decode {
		period := int64(10 * ms)
		out = append(out, Step{Index: first + int64(i), DecodeRequests: n, DecodeTokens: n, SubmitNS: (first + int64(i)) * 10 * ms, PeriodNS: &period})
	}
	return out
}

// labelled are iterations whose labels start delay after the submissions of steps from first on.
func labelled(first, delay int64, decode ...int64) []rank.Iteration {
	var out []rank.Iteration
	for i, n := range decode {
		at := (first+int64(i))*10*ms + delay
		out = append(out, rank.Iteration{Label: rank.Label{Text: "l", Known: true, DecodeRequests: n, DecodeTokens: n}, LabelNS: interval.Span{Start: at, End: at + ms}, ProfilerStep: -1})
	}
	return out
}

func scheduled(its []rank.Iteration, first int64) []rank.Iteration {
	for i := range its {
		its[i].ProfilerStep = first + int64(i)
	}
	return its
}

func TestJoins(t *testing.T) {
	rising := stepsOf(1, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	flat := stepsOf(1, 8, 8, 8, 8, 8, 8, 8, 8, 8)
	holed := slices.Delete(slices.Clone(rising), 4, 5)
	noLabels := labelled(3, 0, 3, 4)
	for i := range noLabels {
		noLabels[i].Label.Known = false
	}
	for name, c := range map[string]struct {
		its     []rank.Iteration
		steps   []Step
		markers []Marker
		method  string
		first   int64
		reason  string
	}{
		"marker":                      {labelled(3, ms, 3, 4, 5), rising, []Marker{{AfterStep: 2, WallNS: 25 * ms}}, ByMarker, 3, ""},
		"the last marker before":      {labelled(5, ms, 5, 6), rising, []Marker{{AfterStep: 2, WallNS: 25 * ms}, {AfterStep: 4, WallNS: 45 * ms}, {AfterStep: 8, WallNS: 85 * ms}}, ByMarker, 5, ""},
		"no marker":                   {labelled(3, ms, 3, 4, 5), rising, nil, ByLabels, 3, ""},
		"a marker that does not fit":  {labelled(3, ms, 3, 4, 5), rising, []Marker{{AfterStep: 1, WallNS: 15 * ms}}, ByLabels, 3, "label 1 after the marker at step 1 does not equal step 2"},
		"marker past the file":        {labelled(3, ms, 3, 4), rising, []Marker{{AfterStep: 99, WallNS: 15 * ms}}, ByLabels, 3, "step 100 after the marker is not in the file"},
		"equal steps, clocks tell":    {labelled(4, ms, 8, 8, 8), flat, nil, ByTime, 4, ""},
		"equal steps, clocks do not":  {labelled(4, 5*ms, 8, 8, 8), flat, nil, "", 0, "times do not tell them apart"},
		"clocks of another machine":   {labelled(900, 0, 8, 8, 8), flat, nil, "", 0, "times do not tell them apart"},
		"a gap in the steps":          {labelled(4, ms, 4, 5, 6), holed, []Marker{{AfterStep: 3, WallNS: 35 * ms}}, "", 0, "does not equal"},
		"labels of another run":       {labelled(4, ms, 70, 71), rising, nil, "", 0, "fits no run of steps"},
		"labels without composition":  {noLabels, rising, nil, "", 0, "no composition"},
		"without composition, marker": {noLabels, rising, []Marker{{AfterStep: 2, WallNS: 25 * ms}}, ByMarker, 3, ""},
		"no steps":                    {labelled(4, ms, 8), nil, nil, "", 0, "no Layer-1 steps"},
		"no labels":                   {nil, rising, nil, "", 0, "no labelled iterations"},
		"a schedule warms up":         {scheduled(labelled(4, ms/5, 8, 8, 8), 2), flat, []Marker{{AfterStep: 2, WallNS: 25 * ms}}, ByMarker, 4, ""},
		"delayed start":               {labelled(5, ms, 8, 8, 8), flat, []Marker{{AfterStep: 2, WallNS: 25 * ms}}, ByTime, 5, "began 2 steps after its marker"},
		"one step late is no delay":   {labelled(4, ms, 8, 8, 8), flat, []Marker{{AfterStep: 2, WallNS: 25 * ms}}, ByMarker, 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			j := Steps(c.its, c.steps, c.markers)
			if j.Method != c.method || !strings.Contains(j.Reason, c.reason) || (c.reason == "" && j.Reason != "") {
				t.Fatalf("method %q, reason %q; want %q, %q", j.Method, j.Reason, c.method, c.reason)
			}
			if c.method == "" {
				if j.Steps != nil {
					t.Error("a refused join gives steps")
				}
				return
			}
			if len(j.Steps) != len(c.its) || j.Steps[0].Index != c.first || j.AfterStep != c.first-1 {
				t.Errorf("steps %+v after %d, want from %d", j.Steps, j.AfterStep, c.first)
			}
		})
	}
}

// file is a breakdown of a rank with iterations of the given work and collectives.
func file(name string, dp, global int64, its ...rank.Iteration) *rank.Breakdown {
	return &rank.Breakdown{File: name, Rank: kineto.Rank{Global: global, DP: dp, From: "file name"}, Mode: rank.ModeGraphs, Iterations: its}
}

func TestGroupsNeverMixWindows(t *testing.T) {
	at := func(first int64) []rank.Iteration { return labelled(first, 0, 8, 8, 8) }
	all := []*rank.Breakdown{
		file("b1", 0, 1, at(100)...), file("a0", 0, 0, at(1)...), file("b0", 0, 0, at(100)...), file("a1", 0, 1, at(1)...), file("c0", 0, 0, at(200)...),
		file("e0", 1, 2, at(1)...), file("e1", 1, 3, at(1)...), file("again", 0, 0, at(1)...),
	}
	rapid.Check(t, func(t *rapid.T) {
		groups := Groups(rapid.Permutation(all).Draw(t, "order"), 0)
		var got []string
		for _, g := range groups {
			var names []string
			for _, b := range g.Ranks {
				names = append(names, b.File)
			}
			for range g.Missing {
				names = append(names, "?")
			}
			got = append(got, strings.Join(names, " "))
		}
		slices.Sort(got)
		if want := []string{"a0 a1", "again ?", "b0 b1", "c0 ?", "e0 e1"}; !slices.Equal(got, want) {
			t.Fatalf("groups %q, want %q", got, want)
		}
	})
}

// collective is an iteration whose collectives run in the given spans, in ms.
func collective(spans ...interval.Span) rank.Iteration {
	it := labelled(1, 0, 8)[0]
	for _, s := range spans {
		it.Collectives = append(it.Collectives, interval.Span{Start: s.Start * ms, End: s.End * ms})
		it.Families[family.Collective].UnionNS += s.Len() * ms
		it.Total.UnionNS += s.Len() * ms
	}
	return it
}

func TestWaits(t *testing.T) {
	span := func(a, b int64) interval.Span { return interval.Span{Start: a, End: b} }
	for name, c := range map[string]struct {
		a, b rank.Iteration
		by   string
		want []int64
	}{
		"the early rank spins":    {collective(span(10, 30), span(50, 61)), collective(span(28, 30), span(40, 61)), WaitByClocks, []int64{18 * ms, 10 * ms}},
		"together":                {collective(span(10, 12)), collective(span(10, 12)), WaitByClocks, []int64{0, 0}},
		"clocks apart":            {collective(span(10, 30)), collective(span(928, 930)), WaitByDifference, []int64{18 * ms, 0}},
		"ends tell the clocks":    {collective(span(10, 30), span(40, 50), span(60, 64)), collective(span(928, 930), span(930, 950), span(961, 964)), WaitByEnds, []int64{19 * ms, 10 * ms}},
		"ends that scatter":       {collective(span(10, 30), span(40, 50), span(60, 64)), collective(span(928, 930), span(935, 950), span(999, 1002)), WaitByDifference, []int64{14 * ms, 0}},
		"a collective is missing": {collective(span(10, 30), span(40, 41)), collective(span(28, 30)), WaitByDifference, []int64{19 * ms, 0}},
		"none":                    {collective(), collective(), WaitByClocks, []int64{0, 0}},
	} {
		w := NewWindow(Group{Ranks: []*rank.Breakdown{file("a", 0, 0, c.a), file("b", 0, 1, c.b)}}, nil, nil)
		it := w.Iterations[0]
		if it.WaitBy != c.by || !slices.Equal(it.Waits, c.want) || it.WaitNS != slices.Max(c.want) {
			t.Errorf("%s: %v by %s, want %v by %s", name, it.Waits, it.WaitBy, c.want, c.by)
		}
	}
	w := NewWindow(Group{Ranks: []*rank.Breakdown{file("a", 0, 0, collective(span(1, 2)))}, Missing: []int64{1}}, nil, nil)
	if it := w.Iterations[0]; it.WaitNS != -1 || it.Waits[0] != -1 {
		t.Errorf("a rank is missing, and yet its wait is known: %+v", it)
	}
}

func TestStates(t *testing.T) {
	its := labelled(3, ms, 3, 4, 5)
	steps, markers := stepsOf(1, 1, 2, 3, 4, 5, 6), []Marker{{AfterStep: 2, WallNS: 25 * ms}}
	other := labelled(3, ms, 3, 4, 5)
	other[1].Label.Text = "another"
	cut := file("cut", 0, 1, its[:2]...)
	cut.Truncated = true
	for name, c := range map[string]struct {
		g      Group
		steps  []Step
		state  State
		reason string
	}{
		"whole":           {Group{Ranks: []*rank.Breakdown{file("a", 0, 0, its...), file("b", 0, 1, its...)}}, steps, Verified, ""},
		"a rank missing":  {Group{Ranks: []*rank.Breakdown{file("a", 0, 0, its...)}, Missing: []int64{1, 3}}, steps, Incomplete, "no file of rank 1, 3"},
		"cut":             {Group{Ranks: []*rank.Breakdown{file("a", 0, 0, its...), cut}}, steps, Incomplete, "cut is cut off; cut has 2 of 3 labels"},
		"no steps":        {Group{Ranks: []*rank.Breakdown{file("a", 0, 0, its...)}}, nil, Unjoined, "no Layer-1 steps"},
		"labels disagree": {Group{Ranks: []*rank.Breakdown{file("a", 0, 0, its...), file("b", 0, 1, other...)}}, steps, Unjoined, "label another of b differs"},
	} {
		w := NewWindow(c.g, c.steps, markers)
		if state, reason := w.State(); state != c.state || !strings.Contains(reason, c.reason) || (c.reason == "" && reason != "") {
			t.Errorf("%s: %s, %q; want %s, %q", name, state, reason, c.state, c.reason)
		}
	}
}

// TestTheEndOfAWindow: the step behind the labels is told where it is known, and whether labels may be missing before it.
func TestTheEndOfAWindow(t *testing.T) {
	its := labelled(3, ms, 3, 4, 5)
	cut := file("cut", 0, 1, its...)
	cut.Truncated = true
	lossy := file("lossy", 0, 0, its...)
	lossy.Faults = 1
	whole, short := file("a", 0, 0, its...), file("b", 0, 1, its[:2]...)
	for name, c := range map[string]struct {
		ranks  []*rank.Breakdown
		steps  []Step
		whole  bool
		behind int64 // 0 is none
	}{
		"whole":                        {[]*rank.Breakdown{whole}, stepsOf(1, 1, 2, 3, 4, 5, 6), true, 6},
		"the last step of the records": {[]*rank.Breakdown{whole}, stepsOf(1, 1, 2, 3, 4, 5), true, 0},
		"the next has no record":       {[]*rank.Breakdown{whole}, append(stepsOf(1, 1, 2, 3, 4, 5), stepsOf(7, 7)...), true, 0},
		"no steps":                     {[]*rank.Breakdown{whole}, nil, true, 0},
		"one rank is cut":              {[]*rank.Breakdown{whole, cut}, stepsOf(1, 1, 2, 3, 4, 5, 6), true, 6},
		"the rank with most is cut":    {[]*rank.Breakdown{short, cut}, stepsOf(1, 1, 2, 3, 4, 5, 6), false, 6},
		"events are lost":              {[]*rank.Breakdown{lossy}, stepsOf(1, 1, 2, 3, 4, 5, 6), false, 6},
		"no labels":                    {[]*rank.Breakdown{file("a", 0, 0)}, stepsOf(1, 1, 2, 3), false, 0},
	} {
		w := NewWindow(Group{Ranks: c.ranks}, c.steps, []Marker{{AfterStep: 2, WallNS: 25 * ms}})
		behind := int64(0)
		if w.Join.Behind != nil {
			behind = w.Join.Behind.Index
		}
		if w.Whole() != c.whole || behind != c.behind {
			t.Errorf("%s: whole %v, step %d behind; want %v, %d", name, w.Whole(), behind, c.whole, c.behind)
		}
	}
}

func TestCPUWindowsHaveNoCriticalPath(t *testing.T) {
	b := file("cpu", 0, 0, labelled(3, ms, 3, 4, 5)...)
	b.Mode = rank.ModeCPU
	w := NewWindow(Group{Ranks: []*rank.Breakdown{b}}, stepsOf(1, 1, 2, 3, 4, 5, 6), []Marker{{AfterStep: 2, WallNS: 25 * ms}})
	if state, _ := w.State(); state != Verified {
		t.Errorf("state %s", state)
	}
	for _, it := range w.Iterations {
		if it.CriticalNS >= 0 || it.ResidualNS != nil || it.Step == nil || it.Label.Text == "" {
			t.Errorf("iteration %+v", it)
		}
	}
}

// TestPartsMakeThePeriod: family unions minus overlap plus residual are the period, whatever the work was.
func TestPartsMakeThePeriod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ranks []*rank.Breakdown
		for r := range rapid.IntRange(1, 4).Draw(t, "ranks") {
			it := labelled(1, 0, 8)[0]
			var all []interval.Span
			for f := range family.Count {
				var own []interval.Span
				for range rapid.IntRange(0, 4).Draw(t, "spans") {
					s := rapid.Int64Range(0, 1000).Draw(t, "start")
					own = append(own, interval.Span{Start: s, End: s + rapid.Int64Range(0, 300).Draw(t, "len")})
				}
				all = append(all, own...)
				it.Families[f].UnionNS = interval.Of(own).Len()
			}
			it.Total.UnionNS = interval.Of(all).Len()
			ranks = append(ranks, file("r", 0, int64(r), it))
		}
		period := rapid.Int64Range(0, 5000).Draw(t, "period")
		step := Step{Index: 1, DecodeRequests: 8, DecodeTokens: 8, SubmitNS: 10 * ms, PeriodNS: &period}
		w := NewWindow(Group{Ranks: ranks}, []Step{step}, nil)
		it := w.Iterations[0]
		parts := *it.ResidualNS - it.OverlapNS()
		for f := range family.Count {
			parts += it.Ranks[it.Critical].Families[f].UnionNS
		}
		if parts != period || it.OverlapNS() < 0 {
			t.Fatalf("parts make %d, the period is %d, overlap %d", parts, period, it.OverlapNS())
		}
	})
}
