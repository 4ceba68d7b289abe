package cmd

import (
	"encoding/json"
	"strings"
	"testing"

	"opprof/traces/capture"
	"opprof/traces/tracetest"
)

// Two engines of four ranks: their windows are told apart, the slow rank is named, and what the others waited for it is not its work.
func TestTracesOfTwoEngines(t *testing.T) {
	dir := t.TempDir()
	made := tracetest.Job{Engines: 2, Ranks: 4, Layers: 5, Steps: 6, Seed: 4, SlowNS: map[int]int64{6: 40_000}}.Window()
	if _, err := made.Write(dir); err != nil {
		t.Fatal(err)
	}
	text := command(t, "trace", dir)
	for _, want := range []string{"6 iterations of 4 ranks of engine dp0", "6 iterations of 4 ranks of engine dp1", "from CUDA graphs (FULL 6)"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	var r capture.Report
	if err := json.Unmarshal([]byte(command(t, "trace", "--json", dir)), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Windows) != 2 {
		t.Fatalf("%d windows", len(r.Windows))
	}
	for i := range r.Windows {
		w := &r.Windows[i]
		engine := *w.Ranks[0].DataParallel
		for n := range w.Iterations {
			it := &w.Iterations[n]
			var wait int64
			for k := range it.Ranks {
				own := made.Members[engine].Ranks[k].WaitNS[n]
				if got := it.Ranks[k].WaitNS; got == nil || *got != own {
					t.Errorf("engine %d, iteration %d, rank %d waits %v, want %d", engine, n, k, got, own)
				}
				wait = max(wait, own)
			}
			if *it.CollectiveWaitNS != wait || engine == 1 && *it.SlowestRank != 2 {
				t.Errorf("engine %d, iteration %d: waits %d of %d for rank %d", engine, n, *it.CollectiveWaitNS, wait, *it.SlowestRank)
			}
		}
	}
}

// Eight ranks stand in tables that a screen can hold: no line is as wide as eight ranks side by side.
func TestTracesOfEightRanks(t *testing.T) {
	dir := t.TempDir()
	if _, err := (tracetest.Job{Ranks: 8, Layers: 2, Steps: 3}).Window().Write(dir); err != nil {
		t.Fatal(err)
	}
	families, ranks := 0, map[string]bool{}
	for line := range strings.Lines(command(t, "trace", "--top", "1", dir)) {
		if strings.HasPrefix(line, "Families") {
			families++
		}
		if fields := strings.Fields(line); len(fields) > 2 && fields[0] == "rank" {
			for i, f := range fields[:len(fields)-1] {
				if f == "rank" {
					ranks[fields[i+1]] = true
				}
			}
		}
		if len(line) > 260 {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
	}
	if families != 2 || len(ranks) != 8 {
		t.Errorf("%d tables of families, ranks %v", families, ranks)
	}
}
