package report

import (
	"bytes"
	"strings"
	"testing"

	"opprof/campaign/gate"
	"opprof/campaign/plan"
)

const threeArms = "arms = ['off', 'on', 'unpatched']"

// TestSelfTest: the two arms that do not record are held against each other, whatever the third does, and decide nothing.
func TestSelfTest(t *testing.T) {
	draw := noise(11)
	quiet := func() float64 { return 1 + 0.001*draw() }
	slower := func(arm string, factor float64) func(plan.Run) float64 {
		return func(r plan.Run) float64 {
			if r.Arm == arm {
				return factor * quiet()
			}
			return quiet()
		}
	}
	for name, c := range map[string]struct {
		slower       func(plan.Run) float64
		found, judge string
	}{
		"nothing costs anything":        {slower("", 1), gate.Pass, gate.Pass},
		"the recorder costs":            {slower(plan.On, 1.06), gate.Pass, gate.Fail},
		"the installed server is worse": {slower(plan.Unpatched, 1.2), gate.Pass, gate.Pass},
		"the installed server is best":  {slower(plan.Unpatched, 0.9), gate.Fail, gate.Pass},
		"who comes later is slower":     {func(r plan.Run) float64 { return (1 + 0.04*float64(r.Slot)) * quiet() }, gate.Undecided, gate.Undecided},
	} {
		r := New(measured(t, campaign(t, threeArms), c.slower))
		cell := &r.Cells[0]
		if cell.SelfTest == nil || cell.SelfTest.Verdict != c.found || cell.SelfTest.Metrics[0].N != 6 || r.Verdict != c.judge {
			t.Errorf("%s: %s, self-test %+v", name, r.Verdict, cell.SelfTest)
		}
		if said := strings.Contains(strings.Join(cell.Warnings, "\n"), "self-test"); said != (c.found == gate.Fail) {
			t.Errorf("%s: %q", name, cell.Warnings)
		}
		var text bytes.Buffer
		if err := r.Markdown(&text); err != nil || !strings.Contains(text.String(), "Self-test") {
			t.Errorf("%s: the report does not show it (%v)", name, err)
		}
	}
}

// Who came first is told of these two arms, not of those that the gate compares.
func TestSelfTestOrder(t *testing.T) {
	for _, pair := range New(measured(t, campaign(t, threeArms), costs(1, 0.001, 5))).Cells[0].SelfTest.Metrics[0].Pairs {
		want := "AB"
		if pair.Pair == "1" || pair.Pair == "3" || pair.Pair == "5" { // off, on, unpatched
			want = "BA"
		}
		if pair.Order != want {
			t.Errorf("pair %s: %s", pair.Pair, pair.Order)
		}
	}
}

func TestSelfTestPairsThatDoNotCount(t *testing.T) {
	if r := New(measured(t, campaign(t, ""), costs(1, 0.001, 5))); r.Cells[0].SelfTest != nil {
		t.Error("two arms test themselves")
	}
	for name, change := range map[string]func(*Input, int){
		"it failed":  func(in *Input, i int) { in.Runs[i].Void = "the server died" },
		"other work": func(in *Input, i int) { in.Runs[i].Result = result(t, 1, map[string]any{"total_output_tokens": 1}) },
		"elsewhere":  func(in *Input, i int) { in.Runs[i].Machine = &Machine{Name: "b"} },
	} {
		in := measured(t, campaign(t, threeArms), costs(1, 0.001, 5))
		for i := range in.Runs {
			in.Runs[i].Machine = &Machine{Name: "a"}
		}
		for i := range in.Runs {
			if in.Runs[i].Arm == plan.Unpatched && in.Runs[i].Pair == 2 {
				change(in, i)
			}
		}
		if c := &New(in).Cells[0]; c.SelfTest.Metrics[0].N != 5 || c.Decision.Metrics[0].N != 6 {
			t.Errorf("%s: %d pairs of the self-test and %d of the gate", name, c.SelfTest.Metrics[0].N, c.Decision.Metrics[0].N)
		}
	}
}
