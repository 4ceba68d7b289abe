package session

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"opprof/campaign/calibrate"
	"opprof/engine/rundir"
	"opprof/testdata"
	"opprof/traces/experts"
)

// eventually asks until an answer is as wanted.
func eventually[T any](t *testing.T, ask func(context.Context) (T, error), is func(T) bool) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		v, err := ask(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if is(v) {
			return v
		}
		select {
		case <-ctx.Done():
			t.Fatalf("it stayed %+v", v)
		case <-ticker.C:
		}
	}
}

// The demo has routed experts, and its windows teach what steps cost.
func TestDemoTeaches(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s, err := OpenDemo(t.Context(), DemoOptions{Speed: 1}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	list := eventually(t, s.Experts, func(l *experts.List) bool { return l.Of > 0 && l.Done == l.Of })
	if !s.HasExperts() || list.Load == nil || list.Load.Layers != 48 || list.Load.Tokens != 286 {
		t.Errorf("%+v", list)
	}
	if list.Remark == "" {
		t.Error("nothing says that the experts are a recording")
	}
	loads := map[string]bool{}
	for layer := range list.Load.Layers {
		loads[fmt.Sprint(list.Load.Layer(layer))] = true
	}
	if len(loads) != list.Load.Layers || list.Load.RepeatedRows != 0 || list.Load.OutOfRange != 0 {
		t.Errorf("%d layers have %d loads; %d rows with an expert twice", list.Load.Layers, len(loads), list.Load.RepeatedRows)
	}
	learned := eventually(t, s.Cost, func(l *calibrate.Learned) bool { return l.Windows >= calibrate.MinWindows && l.Done == l.Of })
	if !s.HasCost() || len(learned.Sets) != 1 {
		t.Fatalf("%+v", learned)
	}
	a, err := learned.Sets[0].Ask(learned.Sets[0].Newest())
	if err != nil || !a.Inside || a.Busy.LowNS == nil {
		t.Errorf("%+v, %v", a, err)
	}
}

// A run without either says so, and files that come later are read.
func TestExpertsComeLater(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, rundir.Layer1Name), rundir.DirMode); err != nil {
		t.Fatal(err)
	}
	run, err := rundir.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	ticks := make(chan time.Time)
	s := Open(t.Context(), run, Options{Kind: KindLive, Ticks: ticks, expertTicks: ticks})
	defer func() { _ = s.Close() }()
	if s.HasExperts() || s.HasCost() {
		t.Error("an empty run has something")
	}
	files, err := testdata.Experts()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, rundir.ExpertsName), rundir.DirMode); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, rundir.ExpertsName, name), text, rundir.FileMode); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func(ctx context.Context) (*experts.List, error) {
		select {
		case ticks <- time.Time{}:
		default:
		}
		return s.Experts(ctx)
	}, func(l *experts.List) bool { return l.Load != nil && l.Load.Tokens == 286 })
	if !s.HasExperts() {
		t.Error("they are not there")
	}
}

// What the other runs of a campaign have recorded counts, and a run that cannot be read does not keep the others from counting.
func TestCostOfRunsBeside(t *testing.T) {
	put := func(path string, text []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), rundir.DirMode); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, rundir.FileMode); err != nil {
			t.Fatal(err)
		}
	}
	runs := t.TempDir()
	own, other := filepath.Join(runs, "own"), filepath.Join(runs, "other")
	for run, recording := range map[string]string{own: "h200-tp2-eager", other: "h200-tp1"} {
		text, err := testdata.Recording(recording)
		if err != nil {
			t.Fatal(err)
		}
		put(filepath.Join(run, rundir.Layer1Name, recording+".jsonl"), text)
	}
	for _, name := range testdata.Traces("h200-tp1")[:2] {
		r, err := testdata.Trace("h200-tp1", name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || r.Close() != nil {
			t.Fatal(err)
		}
		put(filepath.Join(other, rundir.KinetoName, name), text)
	}
	run, err := rundir.Open(own)
	if err != nil {
		t.Fatal(err)
	}
	s := Open(t.Context(), run, Options{Beside: []string{filepath.Join(runs, "gone"), other}})
	defer func() { _ = s.Close() }()
	if !s.HasCost() {
		t.Error("the campaign has windows")
	}
	learned := eventually(t, s.Cost, func(l *calibrate.Learned) bool { return l.Version > 0 })
	if learned.Windows != 2 || len(learned.Sets) != 1 || learned.Sets[0].Set.Windows[0] != "other window 1" {
		t.Errorf("%+v", learned)
	}
}
