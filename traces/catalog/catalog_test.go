package catalog

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/traces/family"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run is a folder of traces with the markers of a recording, and a clock that tests move.
type run struct {
	t       *testing.T
	dir     string
	stream  string
	markers []store.Window
	ranks   int
	now     time.Time
	live    bool
	note    string
	armed   string
	*Catalog
}

// newRun has the records of a recording and no trace.
func newRun(t *testing.T, recording string, ranks int) *run {
	t.Helper()
	r := &run{t: t, dir: t.TempDir(), ranks: ranks, live: true, stream: filepath.Join("..", "..", "testdata", "records", recording+".jsonl.zst")}
	s := store.New(store.Options{})
	lines := record.NewReader(bytes.NewReader(unpacked(t, r.stream)), recording)
	for lines.Scan() {
		s.Line(0, lines.Line())
	}
	r.markers = s.Snapshot().Frame(store.Query{Columns: 1}).Windows
	if len(r.markers) == 0 {
		t.Fatal("the recording has no windows")
	}
	r.now = time.Unix(0, r.markers[len(r.markers)-1].StopNS+1)
	return r
}

// open makes the catalog with what the run is by now.
func (r *run) open() *run {
	r.Catalog = New(Options{
		Traces:  func() ([]string, error) { return filepath.Glob(filepath.Join(r.dir, "*")) },
		Streams: func() ([]string, error) { return []string{r.stream}, nil },
		Markers: func() []store.Window { return r.markers }, Ranks: func() int { return r.ranks }, Rules: family.Default,
		Live: r.live, Now: func() time.Time { return r.now }, Note: r.note, Pending: func() string { return r.armed },
	})
	return r
}

// look takes two looks, so that a file that does not change is known not to.
func (r *run) look() *List {
	r.t.Helper()
	for range 2 {
		if err := r.Look(context.Background()); err != nil {
			r.t.Fatal(err)
		}
	}
	return r.List()
}

func unpacked(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// traces are the recorded trace files of a recording, as a server wrote them.
func traces(t *testing.T, recording string) (names []string, texts [][]byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "traces", recording, "*.zst"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".zst"))
		texts = append(texts, unpacked(t, f))
	}
	return names, texts
}

func (r *run) write(name string, text []byte) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), text, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func packed(t *testing.T, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func state(t *testing.T, l *List, i int, want State, reason string) {
	t.Helper()
	if i >= len(l.Windows) {
		t.Fatalf("%d windows", len(l.Windows))
	}
	if w := &l.Windows[i]; w.State != want || !strings.Contains(w.Reason, reason) {
		t.Errorf("window %d is %s (%s), want %s (%s)", w.Number, w.State, w.Reason, want, reason)
	}
}

// The window of an eager run of two ranks, from its marker to its traces, file by file.
func TestAWindowComesAbout(t *testing.T) {
	r := newRun(t, "h200-tp2-eager", 2)
	r.markers = r.markers[:1]
	names, texts := traces(t, "h200-tp2-eager")
	stop := r.markers[0].StopNS
	r.now = time.Unix(0, stop+1)
	r.markers[0].StopNS = 0
	r.open()
	state(t, r.look(), 0, Recording, "")
	r.markers[0].StopNS = stop
	state(t, r.look(), 0, Flushing, "no trace file yet")

	first := packed(t, texts[0])
	r.write(names[0]+".gz", first[:len(first)/2])
	state(t, r.look(), 0, Flushing, "0 of 2 trace files")
	r.write(names[0]+".gz", first)
	state(t, r.look(), 0, Flushing, "1 of 2 ranks")

	r.write(names[1], texts[1][:len(texts[1])-10])
	state(t, r.look(), 0, Flushing, "1 of 2 trace files")
	r.write(names[1], texts[1])
	l := r.look()
	state(t, l, 0, Verified, "")
	w := l.Windows[0]
	if w.FirstStep != 35 || w.LastStep != 44 || w.Ranks != 2 || len(w.Files) != 2 || w.Detail.Join.Method != "marker" || l.Done != 2 || l.Of != 2 {
		t.Errorf("%+v", w)
	}
	for k := range w.Detail.Ranks {
		f := RankFigures(w.Detail, k)
		var sum int64
		for _, it := range w.Detail.Iterations[2:] {
			sum += it.Ranks[k].Total.UnionNS
		}
		if f.Iterations != 8 || f.UnionNS != sum || f.OverlapNS() < 0 || f.WaitNS < 0 {
			t.Errorf("rank %d: %+v, want union %d of 8", k, f, sum)
		}
	}

	if err := os.Remove(filepath.Join(r.dir, names[0]+".gz")); err != nil {
		t.Fatal(err)
	}
	r.now = r.now.Add(time.Minute)
	state(t, r.look(), 0, Incomplete, "rank 0")
}

// TestATraceThatIsCompressed: the window stays as it was read while its files are replaced by compressed copies, one after the other.
func TestATraceThatIsCompressed(t *testing.T) {
	r := newRun(t, "h200-tp2-eager", 2)
	r.markers = r.markers[:1]
	names, texts := traces(t, "h200-tp2-eager")
	for i, name := range names {
		r.write(name, texts[i])
	}
	l := r.open().look()
	state(t, l, 0, Verified, "")
	detail := l.Windows[0].Detail
	for i, name := range names {
		r.write(name+".gz", packed(t, texts[i]))
		if err := os.Remove(filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := r.Look(t.Context()); err != nil { // once: nothing is read again
			t.Fatal(err)
		}
		l = r.List()
		state(t, l, 0, Verified, "")
		w := &l.Windows[0]
		if len(l.Windows) != 1 || w.Detail.Ranks[0] != detail.Ranks[0] || w.Detail.Ranks[1] != detail.Ranks[1] || w.Ranks != 2 || l.Done != 2 || l.Of != 2 {
			t.Errorf("behind %s: %+v", name, l)
		}
		if at := w.Files[i].Path; at != filepath.Join(r.dir, name+".gz") {
			t.Errorf("file %d is at %s", i, at)
		}
	}
	if err := os.Remove(filepath.Join(r.dir, names[0]+".gz")); err != nil {
		t.Fatal(err)
	}
	r.now = r.now.Add(time.Minute)
	state(t, r.look(), 0, Incomplete, "rank 0")
}

// TestAWindowWithoutLabels: which steps it recorded, and how long its export took, is told by nothing else: not by its markers, and not by how long the
// call took that stopped it. Its ranks are one window all the same.
func TestAWindowWithoutLabels(t *testing.T) {
	markers := newRun(t, "h200-tp2-eager", 2).markers
	events := `{"baseTimeNanoseconds": 1796004078878740302, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 10, "dur": 5}]}`
	for _, tt := range []struct {
		name        string
		steps       int64 // between the markers
		traces      []string
		state       State
		ranks       int
		first, last int64
	}{
		{"stopped before a step", 0, []string{events, events}, Unjoined, 2, 0, 0},
		{"stopped behind some steps", 20, []string{events, events}, Unjoined, 2, 0, 0},
		{"one rank", 20, []string{events}, Incomplete, 1, 0, 0},
		{"its files give nothing", 20, []string{"{}", "{}"}, Failed, 0, 0, 0},
		{"no file, stopped before a step", 0, nil, Recorded, 0, 0, 0},
		{"no file", 20, nil, Recorded, 0, markers[1].AfterStep + 1, markers[1].AfterStep + 20},
	} {
		r := newRun(t, "h200-tp2-eager", 2)
		r.live = false
		m := &r.markers[1] // the one before it has no trace
		m.StopAfterStep, m.StopHeldNS, m.LongestNS = m.AfterStep+tt.steps, 3_390_000, 7_000_000
		for k, text := range tt.traces {
			r.write(fmt.Sprintf("dp0_pp0_tp%d_dcp0_ep%d_rank%d.%d.pt.trace.json", k, k, k, wallNS(m)+int64(2-k)*1_000_000), []byte(text))
		}
		l := r.open().look()
		state(t, l, 1, tt.state, "")
		if w := &l.Windows[1]; len(l.Windows) != 2 || w.Marker == nil || w.Ranks != tt.ranks || w.FirstStep != tt.first || w.LastStep != tt.last || w.StallNS != nil {
			t.Errorf("%s: %d ranks, steps %d to %d, stall %v, %d windows", tt.name, w.Ranks, w.FirstStep, w.LastStep, w.StallNS, len(l.Windows))
		}
	}
}

// What never becomes whole is read when its writer has given it up.
func TestFilesThatAreGivenUp(t *testing.T) {
	names, texts := traces(t, "h200-tp2-eager")
	half := packed(t, texts[0])
	half = half[:len(half)/2]
	for _, tt := range []struct {
		name, file string
		text       []byte
		live       State
		then       State
		reason     string
	}{
		{"half a gzip file", names[0] + ".gz", half, Flushing, Incomplete, ""},
		{"half a plain file", names[0], texts[0][:len(texts[0])/2], Flushing, Incomplete, ""},
		{"an empty file", names[0], nil, Flushing, Failed, ""},
		{"no gzip file", names[0] + ".gz", []byte("hello"), Flushing, Failed, ""},
		{"no trace", names[0], []byte("{}"), Failed, Failed, "no traceEvents"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRun(t, "h200-tp2-eager", 1)
			r.markers = r.markers[:1]
			r.write(tt.file, tt.text)
			st, err := os.Stat(filepath.Join(r.dir, tt.file))
			if err != nil {
				t.Fatal(err)
			}
			r.now = st.ModTime()
			r.open()
			if tt.live != Failed {
				state(t, r.look(), 0, tt.live, "")
			}
			r.now = r.now.Add(time.Hour)
			state(t, r.look(), 0, tt.then, tt.reason)
			r.live = false
			r.open()
			state(t, r.look(), 0, tt.then, tt.reason)
		})
	}
}

// Every recorded window finds its marker; those without traces keep theirs.
func TestRecordings(t *testing.T) {
	for _, tt := range []struct {
		recording string
		ranks     int
		verified  []int
		windows   int
	}{
		{"h200-tp1", 1, []int{0, 1, 2, 3, 4, 5, 6}, 7},
		{"h200-tp2-eager", 2, []int{0}, 2},
		{"h200-tp1-experts", 1, []int{0}, 2},
	} {
		t.Run(tt.recording, func(t *testing.T) {
			r := newRun(t, tt.recording, tt.ranks)
			r.live, r.dir = false, filepath.Join("..", "..", "testdata", "traces", tt.recording)
			l := r.open().look()
			if len(l.Windows) != tt.windows || l.Problem != "" {
				t.Fatalf("%d windows, %s", len(l.Windows), l.Problem)
			}
			verified := map[int]bool{}
			for _, i := range tt.verified {
				verified[i] = true
			}
			for i, w := range l.Windows {
				if verified[i] {
					state(t, l, i, Verified, "")
					if w.FirstStep != w.Marker.AfterStep+1 || w.LastStep != w.Marker.AfterStep+10 {
						t.Errorf("window %d: steps %d to %d after %d", w.Number, w.FirstStep, w.LastStep, w.Marker.AfterStep)
					}
				} else {
					state(t, l, i, Recorded, "no trace file")
				}
			}
		})
	}
}

// Events are kept for the windows that are looked at, and for no others.
func TestTimelines(t *testing.T) {
	r := newRun(t, "h200-tp1", 1)
	r.live, r.dir = false, filepath.Join("..", "..", "testdata", "traces", "h200-tp1")
	l := r.open().look()
	first, second := l.Windows[0].Key, l.Windows[1].Key
	for _, open := range []string{first, second} {
		r.Open([]string{open})
		l = r.look()
		for _, w := range l.Windows {
			if known := w.Detail != nil && w.Timelines[0] != nil; known != (w.Key == open) {
				t.Errorf("window %d: timeline %t with %s open", w.Number, known, open)
			}
		}
	}
	w := l.Find(second)
	kernels, iterations := make([]int64, len(w.Detail.Ranks[0].Kernel)), make([]int64, len(w.Detail.Iterations))
	for _, e := range w.Timelines[0].Events {
		kernels[e.Kernel] += e.DurNS
		if e.Iteration >= 0 {
			iterations[e.Iteration] += e.DurNS
		}
	}
	for i, k := range w.Detail.Ranks[0].Kernel {
		if kernels[i] != k.Use.SumNS {
			t.Errorf("%s: events of %d ns, want %d", k.Name, kernels[i], k.Use.SumNS)
		}
	}
	for i, it := range w.Detail.Iterations {
		if iterations[i] != it.Ranks[0].Total.SumNS {
			t.Errorf("iteration %d: events of %d ns, want %d", i, iterations[i], it.Ranks[0].Total.SumNS)
		}
	}
	r.options.Events = 10
	r.Open([]string{first})
	if w := r.look().Find(first); w.Timelines[0] != nil {
		t.Error("a timeline longer than allowed")
	}
}

func TestWindowsWithoutMarkersAndMarkersWithoutTraces(t *testing.T) {
	r := newRun(t, "h200-tp2-eager", 0)
	r.live, r.dir = false, filepath.Join("..", "..", "testdata", "traces", "h200-tp2-eager")
	r.markers, r.stream = nil, "none"
	l := r.open().look()
	if len(l.Windows) != 1 || l.Windows[0].Marker != nil || l.Windows[0].Ranks != 2 {
		t.Fatalf("%+v", l.Windows)
	}
	state(t, l, 0, Unjoined, "no Layer-1 steps")

	r = newRun(t, "h200-tp1", 1)
	r.note, r.armed = "traces were left out", "the next window"
	l = r.open().look()
	state(t, l, 0, Recorded, "traces were left out")
	state(t, l, 7, Armed, "the next window")
	if l.Windows[7].Number != 8 || l.Find("no such key") != nil {
		t.Errorf("%+v", l.Windows[7])
	}
}

// Run looks at once, at ticks and when other windows are opened, and ends with its context.
func TestRunEnds(t *testing.T) {
	r := newRun(t, "h200-tp2-eager", 2)
	ctx, cancel := context.WithCancel(context.Background())
	ticks, done := make(chan time.Time), make(chan error)
	r.open()
	go func() { done <- r.Run(ctx, ticks) }()
	ticks <- time.Time{}
	ticks <- time.Time{}
	if r.List().Version == 0 {
		t.Error("nothing was published")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
