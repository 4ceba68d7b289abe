package cmd

import (
	"strings"
	"testing"

	"opprof/campaign/gate"
)

// Beside an order effect that forbids a verdict it is said when noise explains it.
func TestAGateTellsNoiseFromOrder(t *testing.T) {
	for want, on := range map[bool][]float64{true: {160, 60, 70, 150, 155, 80}, false: {104, 96, 104.1, 95.9, 103.9, 96.1}} {
		m := gate.Metric{Name: "ttft_p50"}
		for i, v := range on {
			m.Pairs = append(m.Pairs, gate.Pair{ID: string(rune('1' + i)), Order: []string{"AB", "BA"}[i%2], Off: 100, On: v})
		}
		d := gate.Decide([]gate.Metric{m}, gate.Options{})
		var b strings.Builder
		if err := writeGate(&b, d); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), gate.ByChance); got != want || d.Verdict != gate.Undecided || !strings.Contains(d.Reasons[0], "running second") {
			t.Errorf("%v: %v, want %v:\n%s", on, got, want, b.String())
		}
	}
}
