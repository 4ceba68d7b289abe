package panel

import (
	"strings"
	"testing"
	"time"

	"opprof/engine/store"
	"opprof/traces/catalog"
	"opprof/traces/join"
	"opprof/traces/kineto"
	"opprof/traces/rank"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// TestAWindowWithoutKernelTimes: what is said of it below is what its row says, once, and why there are no kernel times stands beside it.
func TestAWindowWithoutKernelTimes(t *testing.T) {
	stall := int64(369_000_000)
	cpu := &join.Window{Join: join.Joined{Method: join.ByMarker}}
	for k := range int64(2) {
		cpu.Ranks = append(cpu.Ranks, &rank.Breakdown{Rank: kineto.Rank{Global: k, From: "file name"}, Mode: rank.ModeCPU, CPUOps: 4321})
	}
	marked := &store.Window{AfterStep: 35, StopNS: 1, StopAfterStep: 54}
	atOnce := &store.Window{AfterStep: 15634, StopNS: 1, StopAfterStep: 15634, StopHeldNS: 3_390_000}
	for _, c := range []struct {
		name   string
		window catalog.Window
		facts  string
		says   string
	}{
		{"read, on CPUs", catalog.Window{State: catalog.Verified, Ranks: 2, Expected: 2, FirstStep: 36, LastStep: 45, StallNS: &stall, Marker: marked, Detail: cpu},
			"✓ verified  2 of 2 ranks  steps 36-45  graphs -  export stall 369 ms  perturbed 36-46", "no kernel times: its traces hold no device work, as those of a server on CPUs"},
		{"verified, and read again here", catalog.Window{State: catalog.Verified, Ranks: 2, Expected: 2, FirstStep: 36, LastStep: 45, StallNS: &stall, Marker: marked, Files: []catalog.File{{State: catalog.FileWaiting}}},
			"✓ verified  2 of 2 ranks  steps 36-45  graphs -  export stall 369 ms  perturbed 36-54", "kernel times follow: its traces are being read"},
		{"verified, its traces are gone", catalog.Window{State: catalog.Verified, Ranks: 2, Expected: 2, FirstStep: 36, LastStep: 45, StallNS: &stall},
			"✓ verified  2 of 2 ranks  steps 36-45  graphs -  export stall 369 ms", "no kernel times: its traces are not in the run's folder"},
		{"stopped before a step", catalog.Window{State: catalog.Failed, Reason: "no trace appeared", Expected: 2, Marker: atOnce},
			"× failed  0 of 2 ranks  steps -  graphs -  export stall -", "no kernel times: no trace appeared"},
		{"its marker is all there is", catalog.Window{State: catalog.Recorded, Reason: "no trace file in the run's folder", Expected: 2, FirstStep: 36, LastStep: 54, Marker: marked},
			"○ recorded  0 of 2 ranks  steps 36-54  graphs -  export stall -  perturbed 36-54", "no kernel times: no trace file in the run's folder"},
		{"it records", catalog.Window{State: catalog.Recording, Expected: 2, FirstStep: 36}, "● recording  0 of 2 ranks  steps 36-  graphs -  export stall -", "kernel times follow: its traces are not written yet"},
		{"it waits", catalog.Window{State: catalog.Armed, Reason: "in 240 steps: every 500 steps", Expected: 2}, "○ armed", "in 240 steps: every 500 steps"},
		{"it was taken back", catalog.Window{State: "cancelled", Expected: 2}, "○ cancelled", "it recorded nothing"},
	} {
		g := chart.NewGrid(150, RankBarsHeight(&c.window), theme.UnicodeGlyphs())
		RankBars{Window: &c.window, Rank: -1, Marked: -1}.Draw(g)
		lines := strings.Split(g.Plain(), "\n")
		if facts, says := strings.TrimRight(lines[0], " "), strings.TrimRight(lines[1], " "); facts != c.facts || says != c.says {
			t.Errorf("%s:\n got %q\n     %q\nwant %q\n     %q", c.name, facts, says, c.facts, c.says)
		}
		row := windowCells(&g.Glyphs, &c.window, "", time.UTC)
		if state := row[1].Text; !strings.HasPrefix(c.facts, state) {
			t.Errorf("%s: its row says %q", c.name, state)
		}
		if notBegun(c.window.State) {
			continue
		}
		for _, cell := range []string{row[7].Text + " ranks", "steps " + row[2].Text, "graphs " + row[6].Text, "export stall " + row[8].Text} {
			if strings.Count(g.Plain(), cell) != 1 {
				t.Errorf("%s: its row says %q, and below stands\n%s", c.name, cell, g.Plain())
			}
		}
	}
}

func TestMarkedSteps(t *testing.T) {
	for want, w := range map[string]store.Window{
		"36-":         {AfterStep: 35},
		"36-54":       {AfterStep: 35, StopNS: 1, StopAfterStep: 54},
		"1,000-1,000": {AfterStep: 999, StopNS: 1, StopAfterStep: 1000},
		"-":           {AfterStep: 15634, StopNS: 1, StopAfterStep: 15634},
	} {
		if got := MarkedSteps(&w); got != want {
			t.Errorf("%+v: %q, want %q", w, got, want)
		}
	}
}
