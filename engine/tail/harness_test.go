package tail

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"opprof/engine/frames"
	"opprof/engine/record"
	"opprof/engine/rundir"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// log is a Sink that writes down what it gets: one word for each line (a step's index, the kind of another line), one for each restart.
type log struct{ words []string }

func (g *log) Line(stream int, l *record.Line) { g.words = append(g.words, prefix(stream)+word(l)) }

func (g *log) Restart(stream int, why string) {
	if why == "" {
		panic("a restart without a reason")
	}
	g.words = append(g.words, prefix(stream)+"restart")
}

func (g *log) take() string {
	words := strings.Join(g.words, " ")
	g.words = nil
	return words
}

func prefix(stream int) string {
	if stream == 0 {
		return ""
	}
	return fmt.Sprintf("%d:", stream)
}

func word(l *record.Line) string {
	switch l.Kind {
	case record.KindStep:
		return fmt.Sprint(l.Step.StepIndex)
	case record.KindHeader:
		return "header"
	case record.KindFooter:
		return "footer"
	case record.KindBad:
		if l.Err.TornTail {
			return "torn"
		}
		return "bad"
	case record.KindUnknown:
		return "unknown"
	}
	return fmt.Sprint("kind", l.Kind)
}

// step is a step line with its newline.
func step(index int) string {
	return fmt.Sprintf(`{"schema":1,"engine_id":"dp0-pid1","step_index":%d,"submit_wall_ns":%d,"submit_mono_ns":%d,"complete_mono_ns":%d,`+
		`"model_executed":true,"scheduled_requests":1,"decode_batch_size":1,"prefill_requests":0,"prefill_tokens":0,"decode_tokens":1,`+
		`"chunked_prefill":{"first":0,"middle":0,"final":0,"unsplit":0,"tokens":0,"chunk_size_hist":[0,0,0,0,0,0,0,0,0]},`+
		`"context_length_hist":[1,0,0,0,0,0,0,0,0,0,0,0],"preemptions":0,"queues":{"running":1,"waiting":0,"deferred":0},`+
		`"kv":{"total_blocks":100,"free_blocks":99,"used_blocks":1,"usage":0.01},"prefix":{"local":null,"external":null},`+
		`"cudagraph":null,"moe_expert_load":null,"dropped_records_before":0}`+"\n",
		index, 1_700_000_000_000_000_000+index*1_000_000, index*1_000_000, index*1_000_000+900_000)
}

func steps(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		b.WriteString(step(i))
	}
	return b.String()
}

func counted(from, to int) string {
	var words []string
	for i := from; i <= to; i++ {
		words = append(words, fmt.Sprint(i))
	}
	return strings.Join(words, " ")
}

func gzipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func inFrames(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := frames.NewWriter(&b, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(w, text)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstded(t testing.TB, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return string(w.EncodeAll([]byte(text), nil))
}

// folder is a run's layer1 folder and the tailer that follows it.
type folder struct {
	t    *testing.T
	dir  string
	tail *Tailer
	log  log
}

func newFolder(t *testing.T, o Options) *folder {
	f := &folder{t: t, dir: filepath.Join(t.TempDir(), "layer1")}
	f.must(os.Mkdir(f.dir, 0o700))
	run, err := rundir.Open(f.dir)
	f.must(err)
	f.tail = New(run.ListStreams, o)
	t.Cleanup(f.tail.Close)
	return f
}

func (f *folder) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

func (f *folder) write(name, text string) {
	f.t.Helper()
	f.must(os.WriteFile(f.path(name), []byte(text), 0o600))
}

// overwrite changes bytes in place.
func (f *folder) overwrite(name string, at int64, text string) {
	f.t.Helper()
	w, err := os.OpenFile(f.path(name), os.O_WRONLY, 0)
	f.must(err)
	_, err = w.WriteAt([]byte(text), at)
	f.must(err)
	f.must(w.Close())
}

func (f *folder) add(name, text string) {
	f.t.Helper()
	w, err := os.OpenFile(f.path(name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	f.must(err)
	_, err = w.WriteString(text)
	f.must(err)
	f.must(w.Close())
}

func (f *folder) rename(from, to string) {
	f.t.Helper()
	f.must(os.Rename(f.path(from), f.path(to)))
}

func (f *folder) remove(name string) { f.t.Helper(); f.must(os.Remove(f.path(name))) }

func (f *folder) poll() Progress {
	f.t.Helper()
	p, err := f.tail.Poll(context.Background(), &f.log)
	f.must(err)
	return p
}

// gives polls once and compares what came.
func (f *folder) gives(want string) {
	f.t.Helper()
	f.poll()
	if got := f.log.take(); got != want {
		f.t.Errorf("got %q, want %q", got, want)
	}
}

// flushes ends the run and compares what came.
func (f *folder) flushes(want string) {
	f.t.Helper()
	f.must(f.tail.Flush(context.Background(), &f.log))
	if got := f.log.take(); got != want {
		f.t.Errorf("flush gave %q, want %q", got, want)
	}
}

func (f *folder) status(stream int) Status { return f.tail.Streams()[stream] }

const name = "opprof-v1-dp0-pid1-1.jsonl"
