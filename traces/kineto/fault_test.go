package kineto

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestFaults reads one tiny trace for each kind of damage and each way of writing. The lines of its file named want are facts about what is read.
func TestFaults(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "faults", "*.txtar"))
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d fault files, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil || len(archive.Files) != 2 || len(archive.Comment) == 0 {
				t.Fatalf("%s: %v: expected a comment, a trace and want", path, err)
			}
			tr, err := Read(context.Background(), bytes.NewReader(archive.Files[0].Data), archive.Files[0].Name, Options{})
			if err != nil {
				t.Fatal(err)
			}
			facts := factsOf(tr)
			for want := range strings.Lines(string(archive.Files[1].Data)) {
				if want = strings.TrimSpace(want); want != "" && !facts[want] {
					t.Errorf("%s does not hold; the trace: %v, faults %v", want, keys(facts), tr.Faults)
				}
			}
		})
	}
}

func keys(m map[string]bool) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

// factsOf says everything that a want file may ask.
func factsOf(tr *Trace) map[string]bool {
	out := map[string]bool{}
	say := func(format string, args ...any) { out[fmt.Sprintf(format, args...)] = true }
	yes := func(v bool) string {
		if v {
			return "yes"
		}
		return "no"
	}
	say("events %d", tr.Events.Len())
	say("labels %d", len(tr.Labels))
	say("twins %d", len(tr.Twins))
	say("launches %d", len(tr.Launches))
	say("cpu_ops %d", tr.CPUOps)
	say("suspect %d", tr.Suspect)
	say("lost %s", yes(tr.FaultCount > 0))
	say("truncated %s", yes(tr.Truncated))
	say("base %d", tr.BaseNS)
	say("rank %d", tr.Rank.Global)
	say("world %d", tr.World)
	sums := map[string]int64{}
	for i := range tr.Events.Len() {
		e := tr.Events.At(i)
		name := tr.Names[e.Name]
		if i == 0 {
			say("first %d", e.StartNS)
		}
		if !e.Suspect {
			sums[name] += e.DurNS
		}
		s, v := tr.Streams[e.Stream], tr.Shapes[e.Shape]
		say("stream %s %d %d", name, s.Device, s.Stream)
		say("shape %s %d,%d,%d %d,%d,%d", name, v.Grid[0], v.Grid[1], v.Grid[2], v.Block[0], v.Block[1], v.Block[2])
	}
	for name, ns := range sums {
		say("kernel %s %d", name, ns)
	}
	return out
}
