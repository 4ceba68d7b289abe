package tui

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/store"
)

func TestMain(m *testing.M) {
	// Bubble Tea's reader of an input that cannot be cancelled stays in a send when a program ends with an event on its way.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/charmbracelet/ultraviolet.(*TerminalReader).sendEvents"))
}

// fakeSource answers from a store that a test fills. It counts questions and can be held up.
type fakeSource struct {
	mu      sync.Mutex
	run     rundir.Description
	store   *store.Store
	queries []store.Query
	err     error
	gate    chan struct{} // nil answers at once; else each answer takes one value
}

func (s *fakeSource) Run() rundir.Description {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

func (s *fakeSource) Frame(ctx context.Context, q store.Query) (*store.Frame, error) {
	s.mu.Lock()
	s.queries = append(s.queries, q)
	err, gate, sn := s.err, s.gate, s.store.Snapshot()
	s.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err != nil {
		return nil, err
	}
	return sn.Frame(q), nil
}

func (s *fakeSource) Find(_ context.Context, ev store.Event, engine string, fromNS int64, forward bool) (int64, bool, error) {
	at, ok := s.store.Snapshot().Find(ev, engine, fromNS, forward)
	return at, ok, nil
}

func (s *fakeSource) AtStep(_ context.Context, engine string, step int64) (int64, bool, error) {
	at, ok := s.store.Snapshot().AtStep(engine, step)
	return at, ok, nil
}

// asked returns the queries since the last call.
func (s *fakeSource) asked() []store.Query {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queries
	s.queries = nil
	return q
}

// recording reads the first n steps of a recorded stream; all of them when n is 0.
func recording(t testing.TB, name string, n int) []record.Line {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "testdata", "records", name+".jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	r := record.NewReader(bufio.NewReader(z), name)
	var lines []record.Line
	steps := 0
	for r.Scan() {
		l := *r.Line()
		lines = append(lines, l)
		if l.Kind == record.KindStep {
			if steps++; steps == n {
				break
			}
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// filled returns a store that holds lines as stream 0.
func filled(lines []record.Line) *store.Store {
	s := store.New(store.Options{})
	s.Name(0, "layer1/opprof-v1-dp0-pid1090-1796003492313451923.jsonl")
	for i := range lines {
		s.Line(0, &lines[i])
	}
	return s
}

// describe is the description of the recorded run.
func describe(kind string) rundir.Description {
	caching := true
	return rundir.Description{
		ID: "h200-tp1", Path: "/runs/h200-tp1", Kind: kind, Model: "Qwen3-30B-A3B", VLLMVersion: "0.24.0", TensorParallel: 1, DataParallel: 1,
		PipeParallel: 1, GraphMode: "FULL_AND_PIECEWISE", PrefixCaching: &caching,
	}
}

// clock is a clock that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// newestTime is the submit time of the newest step, the clock of a reader who looks at once.
func newestTime(lines []record.Line) time.Time {
	for i := len(lines) - 1; i >= 0; i-- {
		if lines[i].Kind == record.KindStep {
			return time.Unix(0, lines[i].Step.SubmitWallNS+lines[i].Step.SubmitToCompleteNS())
		}
	}
	return time.Time{}
}
