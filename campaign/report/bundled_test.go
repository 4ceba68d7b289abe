package report

import (
	"slices"
	"strings"
	"testing"

	"opprof/campaign/plan"
)

// The samples' tokens come 10 and 12 ms apart, and first tokens after 20 and 40 ms.
func TestTokensInBundles(t *testing.T) {
	ms := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		name   string
		period *float64
		want   []string // beginnings of what is said
	}{
		{"steps of 9 ms", ms(9), nil},
		{"several tokens a step", ms(90), nil},
		{"half of them", ms(110), []string{"tpot_p50 is down to 10 ms in 12 of 12 runs, and half of the steps took 110 ms"}},
		{"all of them", ms(300), []string{"tpot_p50 is down to 10 ms", "tpot_p95 is down to 12 ms"}},
		{"steps that nobody knows", nil, nil},
	} {
		in := measured(t, campaign(t, ""), costs(1, 0, 1))
		for i := range in.Runs {
			if r := &in.Runs[i]; r.Arm == plan.On {
				r.Layer1 = &Layer1{Steps: 10, PeriodP50MS: c.period}
			}
		}
		said := slices.DeleteFunc(New(in).Cells[0].Warnings, func(s string) bool { return !strings.Contains(s, "in bundles") })
		if len(said) != len(c.want) {
			t.Errorf("%s: %q", c.name, said)
			continue
		}
		for i := range said {
			if !strings.HasPrefix(said[i], c.want[i]) {
				t.Errorf("%s: %q, want %q", c.name, said[i], c.want[i])
			}
		}
	}
}
