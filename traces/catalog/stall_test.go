package catalog

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/traces/join"
)

// step reads the records as a session does.
func (r *run) step() func(string, int64) (join.Step, bool) {
	s := store.New(store.Options{})
	lines := record.NewReader(bytes.NewReader(unpacked(r.t, r.stream)), "records")
	for lines.Scan() {
		s.Line(0, lines.Line())
	}
	sn := s.Snapshot()
	return func(engine string, index int64) (join.Step, bool) {
		at, ok := sn.AtStep(engine, index)
		if !ok {
			return join.Step{}, false
		}
		now := sn.Frame(store.Query{Engine: engine, AtNS: at, SpanNS: 1e9, Columns: 1}).Now
		return join.Step{Index: index, PeriodNS: now.PeriodNS}, now.StepIndex == index
	}
}

// TestTheStallIsThatOfTheExport: in two of these windows a step that compiled a kernel took longer than the export. In the third a schedule
// warmed up for a step behind the marker, and it is one window all the same. With two ranks the export holds up the step behind the labelled.
func TestTheStallIsThatOfTheExport(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "traces", "stalls.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]struct {
		First   int64 `json:"first"`
		Last    int64 `json:"last"`
		StallNS int64 `json:"stall_ns"`
		Longest int64 `json:"longest_ns"`
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) == 0 {
		t.Fatal("no windows")
	}
	for name, w := range want {
		r := newRun(t, filepath.Join("cut", name), 1)
		r.live, r.dir = false, filepath.Join("..", "..", "testdata", "traces", name)
		r.open()
		r.options.Step = r.step()
		l := r.look()
		if len(l.Windows) != 1 {
			t.Fatalf("%s: %d windows", name, len(l.Windows))
		}
		got := l.Windows[0]
		if got.State != Verified || got.FirstStep != w.First || got.LastStep != w.Last || got.StallNS != w.StallNS || got.Marker.StallNS != w.Longest {
			t.Errorf("%s: %s (%s), steps %d to %d, stall %d, longest step %d, want %+v", name, got.State, got.Reason, got.FirstStep, got.LastStep, got.StallNS, got.Marker.StallNS, w)
		}
	}
	r := newRun(t, "h200-tp2", 2)
	r.live, r.dir = false, filepath.Join("..", "..", "testdata", "traces", "h200-tp2")
	r.open()
	r.options.Step = r.step()
	joined := 0
	for _, w := range r.look().Windows {
		if w.StallNS != w.Marker.StallNS {
			t.Errorf("window %d: stall %d, longest step %d", w.Number, w.StallNS, w.Marker.StallNS)
		}
		if w.Detail != nil && len(w.Detail.Join.Steps) > 0 {
			joined++
			if last := w.Detail.Join.Steps[len(w.Detail.Join.Steps)-1]; last.Index != w.LastStep || last.PeriodNS == nil || *last.PeriodNS >= w.StallNS {
				t.Errorf("window %d: its last labelled step holds the stall", w.Number)
			}
		}
	}
	if joined == 0 {
		t.Error("no window of two ranks is tied to steps")
	}
}
