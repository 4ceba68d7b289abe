package tui

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/traces/catalog"
	"opprof/traces/family"
	"opprof/traces/join"
	"opprof/traces/tracetest"
)

// rankJobs are servers of several ranks, the first of whose engines the screen shows.
func rankJobs() map[string]tracetest.Job {
	return map[string]tracetest.Job{
		"four":  {Ranks: 4, Layers: 8, Steps: 10, FirstStep: 1200, Seed: 1, SlowNS: map[int]int64{2: 12_000}},
		"eight": {Ranks: 8, Layers: 8, Steps: 10, FirstStep: 1200, Seed: 2, SlowNS: map[int]int64{6: 30_000}, Collective: tracetest.NCCLAllReduce},
		"cpu":   {Ranks: 4, Layers: 1, Steps: 10, FirstStep: 1200, Seed: 4, NoDevice: true},
		"two":   {Engines: 2, Ranks: 4, Layers: 8, Steps: 10, FirstStep: 1200, Seed: 3, SlowNS: map[int]int64{5: 20_000}},
	}
}

// rankScreen shows the windows page of a job's run, without the traces of the ranks that are lost.
func rankScreen(t *testing.T, name string, w, h int, lost ...int) *screen {
	t.Helper()
	job := rankJobs()[name]
	dir := t.TempDir()
	traces, err := job.Window().Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range lost {
		traces[r] = ""
	}
	traces = slices.DeleteFunc(traces, func(path string) bool { return path == "" })
	streams, err := filepath.Glob(filepath.Join(dir, "layer1", "*"))
	if err != nil {
		t.Fatal(err)
	}
	s := store.New(store.Options{})
	var newest time.Time
	for i, path := range streams {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s.Name(i, filepath.Join("layer1", filepath.Base(path)))
		r := record.NewReader(bufio.NewReader(bytes.NewReader(text)), path)
		for r.Scan() {
			l := *r.Line()
			s.Line(i, &l)
			newest = newestTime([]record.Line{l})
		}
	}
	run := describe("finished")
	run.ID, run.TensorParallel, run.DataParallel = name, int64(job.Ranks), int64(max(1, job.Engines))
	src := &windowSource{fakeSource: &fakeSource{run: run, store: s}, catalog: catalog.New(catalog.Options{
		Traces:  func() ([]string, error) { return traces, nil },
		Streams: func() ([]string, error) { return streams, nil },
		Markers: func() []store.Window { return s.Snapshot().Frame(store.Query{Columns: 1}).Windows },
		Ranks:   func() int { return job.Ranks }, Rules: family.Default,
		Step: func(string, int64) (join.Step, bool) { return join.Step{}, false },
	})}
	sc := newScreen(t, src, newest, Options{})
	sc.size(w, h)
	sc.tick(0)
	sc.keys("2")
	sc.tick(0)
	sc.tick(0)
	return sc
}

// TestWindowRanksGoldens holds the page of four and eight ranks, of two engines, and of a window that lacks ranks.
func TestWindowRanksGoldens(t *testing.T) {
	for _, sc := range []struct {
		name, job, keys string
		lost            []int
	}{
		{"four", "four", "g", nil},
		{"eight", "eight", "g", nil},
		{"eight-ranks", "eight", "g tab j j j j j j", nil},
		{"lost", "eight", "g", []int{3, 4}},
		{"engines", "two", "G", nil},
		{"cpu", "cpu", "g", nil},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {180, 50}} {
			t.Run(fmt.Sprintf("%s/%dx%d", sc.name, size[0], size[1]), func(t *testing.T) {
				job := rankJobs()[sc.job]
				s := rankScreen(t, sc.job, size[0], size[1], sc.lost...)
				for _, k := range strings.Fields(sc.keys) {
					s.content()
					s.keys(k)
				}
				s.tick(0)
				s.tick(time.Minute)
				s.m.fade = 0
				got := s.plain()
				lineWidths(t, got, size[0], size[1])
				if strings.Contains(got, "slowest") == job.NoDevice {
					t.Errorf("which rank is slowest is on the screen where it is not known, or is not where it is:\n%s", got)
				}
				golden.RequireEqual(t, got)
			})
		}
	}
}
