package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/traces/capture"
	"opprof/traces/join"
)

// told are the windows of the recordings as testdata/traces/oracle.py works them out.
func told(t *testing.T) map[string][]toldWindow {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "traces", "stalls.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]toldWindow
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) == 0 {
		t.Fatal("no windows")
	}
	return want
}

type toldWindow struct {
	First     int64 `json:"first"`
	Last      int64 `json:"last"`
	ExportNS  int64 `json:"export_ns"`
	LongestNS int64 `json:"longest_ns"`
}

// TestTheExportOfRecordedWindows: in two of these windows a step that compiled a kernel took longer than the export. In a third a schedule warmed up
// for a step behind the marker, and it is one window all the same. With two ranks the last labelled step completes within the export.
func TestTheExportOfRecordedWindows(t *testing.T) {
	apart := 0
	for name, want := range told(t) {
		stream, ranks := filepath.Join("cut", name), 1
		if _, err := os.Stat(filepath.Join("..", "..", "testdata", "records", stream+".jsonl.zst")); err != nil {
			stream = name
		}
		if _, err := fmt.Sscanf(name, "h200-tp%d", &ranks); err != nil {
			t.Fatal(err)
		}
		r := newRun(t, stream, ranks)
		r.live, r.dir = false, filepath.Join("..", "..", "testdata", "traces", name)
		var got []toldWindow
		for _, w := range r.open().look().Windows {
			if w.Detail == nil {
				if w.StallNS != nil {
					t.Errorf("%s: window %d was not read, and its export took %d ns", name, w.Number, *w.StallNS)
				}
				continue
			}
			if w.State != Verified || w.StallNS == nil {
				t.Errorf("%s: window %d is %s (%s)", name, w.Number, w.State, w.Reason)
				continue
			}
			got = append(got, toldWindow{w.FirstStep, w.LastStep, *w.StallNS, w.Marker.LongestNS})
			steps := w.Detail.Join.Steps
			if last, behind := steps[len(steps)-1].PeriodNS, w.Detail.Join.Behind.PeriodNS; *last > *steps[4].PeriodNS*3 && *behind > *steps[4].PeriodNS*3 && *w.StallNS > max(*last, *behind) {
				apart++
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
		}
	}
	if apart == 0 {
		t.Error("no export lies in two periods")
	}
}

// TestTheStepBehindComesLater: the record of the step that an export holds up may be read after the traces were, from what is in memory.
func TestTheStepBehindComesLater(t *testing.T) {
	const name = "h200-tp1-compiling"
	want := told(t)[name][0]
	r := newRun(t, filepath.Join("cut", name), 1)
	r.live, r.dir = false, filepath.Join("..", "..", "testdata", "traces", name)
	whole := unpacked(t, r.stream)
	steps := store.New(store.Options{})
	lines, cut := record.NewReader(bytes.NewReader(whole), "records"), 0
	for lines.Scan() {
		l := lines.Line()
		steps.Line(0, l)
		if l.Kind == record.KindStep && l.Step.StepIndex == want.Last {
			cut = int(lines.Offset())
		}
	}
	r.stream = filepath.Join(t.TempDir(), "records.jsonl")
	if err := os.WriteFile(r.stream, whole[:cut], 0o600); err != nil {
		t.Fatal(err)
	}
	sn, arrived := steps.Snapshot(), false
	r.open()
	r.options.Step = func(engine string, index int64) (join.Step, bool) {
		s, at, ok := sn.Step(engine, index)
		return capture.StepOf(&s, at), ok && (arrived || index <= want.Last)
	}
	if w := r.look().Windows[0]; w.LastStep != want.Last || w.StallNS != nil {
		t.Errorf("before the step behind it is known: %+v", w)
	}
	arrived = true
	if w := r.look().Windows[0]; w.StallNS == nil || *w.StallNS != want.ExportNS {
		t.Errorf("%+v, want %d ns", w.StallNS, want.ExportNS)
	}
}
