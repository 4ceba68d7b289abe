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
	"time"

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

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(f *folder)
	}{
		{"grows", func(f *folder) {
			f.write(name, steps(1, 2))
			f.gives("1 2")
			f.gives("")
			f.add(name, steps(3, 5))
			f.gives("3 4 5")
		}},
		{"appears late, then another engine", func(f *folder) {
			f.gives("")
			f.write(name, "")
			f.gives("")
			f.add(name, steps(1, 1))
			f.write("opprof-v1-dp1-pid2-1.jsonl", steps(7, 8))
			f.gives("1 1:7 1:8")
			f.write("opprof-v0-dp9-pid2-1.jsonl", steps(9, 9)) // sorts first, still gets the next number
			f.add(name, steps(2, 2))
			f.gives("2 2:9")
		}},
		{"torn line is held until it is whole", func(f *folder) {
			whole := step(1)
			f.write(name, whole[:100])
			f.gives("")
			if st := f.status(0); !st.Torn || st.Offset != 0 {
				f.t.Errorf("status %+v", st)
			}
			f.add(name, whole[100:len(whole)-1])
			f.gives("")
			f.add(name, "\n"+step(2)[:5])
			f.gives("1")
			f.add(name, step(2)[5:])
			f.gives("2")
			if st := f.status(0); st.Torn || st.Lines != 2 || st.Bad != 0 {
				f.t.Errorf("status %+v", st)
			}
		}},
		{"torn in the middle of a character", func(f *folder) {
			line := `{"type":"note","text":"é"}` + "\n"
			at := strings.Index(line, "é") + 1
			f.write(name, line[:at])
			f.gives("")
			f.add(name, line[at:])
			f.gives("unknown")
		}},
		{"torn at the end of the run", func(f *folder) {
			f.write(name, steps(1, 1)+step(2)[:200])
			f.gives("1")
			f.flushes("torn")
			f.flushes("")
		}},
		{"last line without newline is whole", func(f *folder) {
			f.write(name, steps(1, 1)+strings.TrimSuffix(step(2), "\n"))
			f.gives("1")
			f.flushes("2")
		}},
		{"torn rest is replaced by the writer that restarts", func(f *folder) {
			f.write(name, steps(1, 1)+step(2)[:200])
			f.gives("1")
			f.must(os.Truncate(f.path(name), int64(len(step(1)))))
			f.add(name, steps(2, 3))
			f.gives("2 3")
		}},
		{"truncated to nothing", func(f *folder) {
			f.write(name, steps(1, 3))
			f.gives("1 2 3")
			f.must(os.Truncate(f.path(name), 0))
			f.gives("restart")
			f.add(name, steps(4, 5))
			f.gives("4 5")
			if st := f.status(0); st.Restarts != 1 || st.Lines != 5 {
				f.t.Errorf("status %+v", st)
			}
		}},
		{"truncated in the middle", func(f *folder) {
			f.write(name, steps(1, 3))
			f.gives("1 2 3")
			f.must(os.Truncate(f.path(name), int64(len(steps(1, 2))-10)))
			f.gives("restart") // the line that is left was read
			if st := f.status(0); !st.Torn || st.Offset != int64(len(step(1))) {
				f.t.Errorf("status %+v", st)
			}
			f.must(os.Truncate(f.path(name), int64(len(step(1)))))
			f.add(name, steps(7, 8))
			f.gives("7 8")
		}},
		{"truncated and grown past the old end between two passes", func(f *folder) {
			f.write(name, steps(1, 3))
			f.gives("1 2 3")
			f.write(name, steps(11, 20)) // O_TRUNC keeps the inode
			f.gives("restart " + counted(11, 20))
		}},
		{"same size, other content, same inode", func(f *folder) {
			f.write(name, steps(11, 13))
			f.gives("11 12 13")
			f.overwrite(name, 0, steps(21, 23))
			f.gives("restart 21 22 23")
		}},
		{"same size, other content, other inode", func(f *folder) {
			f.write(name, steps(11, 13))
			f.gives("11 12 13")
			f.write("new.tmp", steps(21, 23))
			f.rename("new.tmp", name)
			f.gives("restart 21 22 23")
		}},
		{"a longer copy renamed into place goes on", func(f *folder) {
			f.write(name, steps(1, 9)+step(10)[:80])
			f.gives(counted(1, 9))
			f.write("copy.tmp", steps(1, 12))
			f.rename("copy.tmp", name)
			f.gives("10 11 12")
		}},
		{"a shorter copy renamed into place goes on at its end", func(f *folder) {
			f.write(name, steps(1, 9))
			f.gives(counted(1, 9))
			f.write("copy.tmp", steps(1, 4))
			f.rename("copy.tmp", name)
			f.gives("restart")
			f.add(name, steps(5, 5))
			f.gives("5")
		}},
		{"overwritten in the middle is read again", func(f *folder) {
			f.write(name, steps(11, 19))
			f.gives(counted(11, 19))
			f.overwrite(name, int64(len(steps(11, 16))), steps(27, 29))
			f.gives("restart " + counted(11, 16) + " 27 28 29")
		}},
		{"another file of three bytes, then more of it", func(f *folder) {
			f.write(name, steps(1, 2))
			f.gives("1 2")
			f.write("new.tmp", "{}\n")
			f.rename("new.tmp", name)
			f.gives("restart bad")
			f.add(name, steps(3, 3))
			f.gives("3")
		}},
		{"an odd byte is all there is", func(f *folder) {
			f.write(name, "(")
			f.gives("")
			f.flushes("bad")
		}},
		{"rotated: the old inode is read to its end first", func(f *folder) {
			f.write(name, steps(1, 2))
			f.gives("1 2")
			f.add(name, steps(3, 4))
			f.rename(name, name+".1")
			f.write(name, steps(5, 6))
			f.gives("3 4 5 6")
			f.add(name, steps(7, 7))
			f.gives("7")
			if st := f.status(0); st.Parts != 1 || st.Restarts != 0 || st.Path != f.path(name) {
				f.t.Errorf("status %+v", st)
			}
		}},
		{"rotated, the writer goes on in the old inode for a while", func(f *folder) {
			f.write(name, steps(1, 1))
			f.gives("1")
			f.rename(name, name+".1")
			f.gives("")
			f.add(name+".1", steps(2, 2))
			f.gives("2")
			f.write(name, "")
			f.add(name+".1", steps(3, 3))
			f.gives("3")
			f.add(name, steps(4, 4))
			f.gives("4")
		}},
		{"rotated to a name that is not listed", func(f *folder) {
			f.write(name, steps(1, 1))
			f.gives("1")
			f.add(name, steps(2, 2)+step(3)[:50])
			f.rename(name, "old")
			f.write(name, steps(4, 4))
			f.gives("2 torn 4")
		}},
		{"rotated twice between two passes", func(f *folder) {
			f.write(name, steps(1, 1))
			f.gives("1")
			f.add(name, steps(2, 2))
			f.rename(name, name+".2")
			f.write(name+".1", steps(3, 3))
			f.write(name, steps(4, 4))
			f.gives("2 3 4")
		}},
		{"rotated parts from before the start, one of them packed", func(f *folder) {
			f.write(name+".2.gz", gzipped(f.t, steps(1, 2)))
			f.write(name+".1", steps(3, 4))
			f.write(name, steps(5, 5))
			f.gives("1 2 3 4 5")
			f.write(name+".1.gz", gzipped(f.t, steps(3, 4)))
			f.remove(name + ".1")
			f.gives("")
			f.rename(name+".2.gz", name+".3.gz")
			f.rename(name+".1.gz", name+".2.gz")
			f.rename(name, name+".1")
			f.write(name, steps(6, 6))
			f.gives("6")
		}},
		{"an empty rotated part", func(f *folder) {
			f.write(name+".1", "")
			f.write(name, steps(1, 1))
			f.gives("1")
			f.gives("")
		}},
		{"rotated by copy and truncation", func(f *folder) {
			f.write(name, steps(1, 2))
			f.gives("1 2")
			f.write(name+".1", steps(1, 2))
			f.must(os.Truncate(f.path(name), 0))
			f.add(name, steps(3, 3))
			f.gives("restart 3")
			f.add(name, steps(4, 4))
			f.gives("4")
		}},
		{"deleted while open", func(f *folder) {
			f.write(name, steps(1, 1))
			f.gives("1")
			w, err := os.OpenFile(f.path(name), os.O_WRONLY|os.O_APPEND, 0)
			f.must(err)
			f.remove(name)
			_, err = w.WriteString(steps(2, 2))
			f.must(err)
			f.must(w.Close())
			f.gives("2")
			if st := f.status(0); !st.Gone || st.Err != nil {
				f.t.Errorf("status %+v", st)
			}
			f.write(name, steps(3, 3))
			f.gives("restart 3")
		}},
		{"packed in place after it was read", func(f *folder) {
			f.write(name, steps(1, 2))
			f.gives("1 2")
			f.write(name+".gz", gzipped(f.t, steps(1, 2)))
			f.remove(name)
			f.gives("")
			f.gives("")
		}},
		{"bad lines between good ones", func(f *folder) {
			f.write(name, step(1)+"{\"step_index\":}\n"+"nonsense\n"+step(2)+strings.Repeat("[", 5000)+"\n"+step(3))
			f.gives("1 bad bad 2 bad 3")
			st := f.status(0)
			if st.Bad != 3 || st.Lines != 6 || !strings.Contains(st.FirstBad, name+":2: ") {
				f.t.Errorf("status %+v", st)
			}
		}},
		{"CRLF and blank lines", func(f *folder) {
			f.write(name, "\n"+strings.ReplaceAll(steps(1, 2), "\n", "\r\n")+" \r\n\n"+step(3))
			f.gives("1 2 3")
		}},
		{"zeros are torn, then one bad line", func(f *folder) {
			f.write(name, step(1)+strings.Repeat("\x00", 4096))
			f.gives("1")
			f.add(name, "\n"+step(2))
			f.gives("bad 2")
		}},
		{"a cut gzip is read as far as it goes, then on", func(f *folder) {
			packed := gzipped(f.t, steps(1, 400))
			f.write("a.jsonl.gz", packed[:len(packed)/2])
			f.poll()
			got := f.log.take()
			if n := len(strings.Fields(got)); n < 100 || !strings.HasPrefix(got, "1 2 3 ") || strings.Contains(got, "bad") {
				f.t.Errorf("half a gzip gave %d lines: %.40q", n, got)
			}
			if st := f.status(0); !st.Torn || st.Err != nil {
				f.t.Errorf("status %+v", st)
			}
			f.write("a.jsonl.gz", packed)
			f.poll()
			if all := strings.TrimSpace(got + " " + f.log.take()); all != counted(1, 400) {
				f.t.Errorf("together %.80q", all)
			}
			if st := f.status(0); st.Torn {
				f.t.Errorf("status %+v", st)
			}
		}},
		{"a gzip that grows by little is read on when it rests", func(f *folder) {
			packed := gzipped(f.t, steps(1, 400))
			f.write("a.jsonl.gz", packed[:len(packed)-8])
			f.gives(counted(1, 400))
			f.add("a.jsonl.gz", packed[len(packed)-8:len(packed)-4])
			f.gives("")
			f.add("a.jsonl.gz", packed[len(packed)-4:])
			f.gives("")
			if st := f.status(0); !st.Torn {
				f.t.Errorf("status %+v", st)
			}
			f.gives("")
			f.gives("")
			if st := f.status(0); st.Torn || st.Lines != 400 {
				f.t.Errorf("status %+v", st)
			}
		}},
		{"a cut zstd, replaced by the whole one", func(f *folder) {
			packed := zstded(f.t, steps(1, 2000))
			f.write("a.jsonl.zst", packed[:len(packed)/2])
			f.poll()
			got := f.log.take()
			f.write("tmp", packed)
			f.rename("tmp", "a.jsonl.zst")
			f.poll()
			if all := strings.TrimSpace(got + " " + f.log.take()); all != counted(1, 2000) {
				f.t.Errorf("together %.80q", all)
			}
		}},
		{"damaged gzip keeps what stands before", func(f *folder) {
			packed := []byte(gzipped(f.t, steps(1, 2000)))
			copy(packed[len(packed)/2:], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
			f.write("a.jsonl.gz", string(packed))
			f.poll()
			if got := f.log.take(); !strings.HasPrefix(got, "1 2 3 ") {
				f.t.Errorf("got %.80q", got)
			}
			if st := f.status(0); st.Err == nil || !strings.Contains(st.Err.Error(), "damaged") {
				f.t.Errorf("status %+v", st)
			}
			f.gives("")
		}},
		{"several members and a packed file under a plain name", func(f *folder) {
			f.write("a.jsonl", gzipped(f.t, steps(1, 3))+gzipped(f.t, steps(4, 5)))
			f.gives("1 2 3 4 5")
		}},
		{"a file is compressed while it is open", func(f *folder) {
			f.write(name, steps(1, 400))
			f.gives(counted(1, 400))
			f.write("tmp", inFrames(f.t, steps(1, 400)))
			f.rename("tmp", name+".zst")
			f.remove(name)
			f.gives("")
			f.tail.Close() // as after the grace of a deleted file
			f.gives("")
			if st := f.status(0); st.Restarts != 0 || st.Path != f.path(name+".zst") || st.Lines != 400 {
				f.t.Errorf("status %+v", st)
			}
		}},
		{"a damaged frame keeps what stands before", func(f *folder) {
			packed := []byte(inFrames(f.t, steps(1, 6000)))
			copy(packed[len(packed)*3/4:], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
			f.write("a.jsonl.zst", string(packed))
			f.poll()
			if got := f.log.take(); !strings.HasPrefix(got, "1 2 3 ") {
				f.t.Errorf("got %.80q", got)
			}
			if st := f.status(0); st.Err == nil || !strings.Contains(st.Err.Error(), "damaged") {
				f.t.Errorf("status %+v", st)
			}
			f.gives("")
		}},
		{"a folder under a stream's name", func(f *folder) {
			f.must(os.Mkdir(f.path("a.jsonl"), 0o700))
			f.write("b.jsonl", steps(1, 1))
			f.gives("1")
		}},
	} {
		t.Run(c.name, func(t *testing.T) { c.do(newFolder(t, Options{})) })
	}
}

func TestLongLinesAreBounded(t *testing.T) {
	f := newFolder(t, Options{MaxLine: 64 << 10, PassBytes: 300 << 10})
	long := strings.Repeat("x", 10<<20)
	f.write(name, step(1)+long+"\n"+step(2)+strings.Repeat("y", 64<<10+1)+"\n"+strings.Repeat("z", 64<<10)+"\n"+step(3))
	for p := f.poll(); p.More; p = f.poll() {
	}
	if got, want := f.log.take(), "1 bad 2 bad bad 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := len(f.tail.buf); n > 512<<10 {
		t.Errorf("the buffer has %d bytes", n)
	}
	f.add(name, long)
	for p := f.poll(); p.More; p = f.poll() {
	}
	if st := f.status(0); !st.Torn || st.Offset != st.Size {
		t.Errorf("status %+v", st)
	}
	f.must(os.Truncate(f.path(name), f.status(0).Size-int64(len(long))))
	f.add(name, steps(4, 5))
	f.gives("4 5") // the long rest was cut away again
}

func TestALineLongerThanAPass(t *testing.T) {
	for _, maxLine := range []int{1 << 20, 8 << 20} { // a bad line, a whole one
		f := newFolder(t, Options{MaxLine: maxLine, PassBytes: chunkBytes})
		f.write(name, step(1)+`{"type":"note","text":"`+strings.Repeat("x", 3<<20)+"\"}\n"+step(2))
		passes := 1
		for p := f.poll(); p.More && passes < 100; p = f.poll() {
			passes++
		}
		want := "1 unknown 2"
		if maxLine < 3<<20 {
			want = "1 bad 2"
		}
		if got := f.log.take(); got != want || passes > 20 {
			t.Errorf("got %q after %d passes, want %q", got, passes, want)
		}
	}
}

func TestFairBetweenStreams(t *testing.T) {
	line := int64(len(step(100)))
	f := newFolder(t, Options{PassBytes: 4 * chunkBytes})
	f.write("a.jsonl", steps(1000, 9999))
	f.write("b.jsonl", steps(100, 101))
	p := f.poll()
	if st := f.status(0); !p.More || !st.More || st.Offset > 5*chunkBytes || st.Offset < 4*chunkBytes-line-10 {
		t.Errorf("a pass read %d bytes", st.Offset)
	}
	if share := p.Share(); share <= 0.05 || share >= 0.25 {
		t.Errorf("share %v", share)
	}
	if !strings.HasSuffix(f.log.take(), " 1:100 1:101") {
		t.Error("the short stream was starved")
	}
	for p.More {
		p = f.poll()
	}
	if p.Share() != 1 || p.Read != p.Size {
		t.Errorf("progress %+v", p)
	}
	if st := f.status(0); st.Lines != 9000 || st.Bad != 0 {
		t.Errorf("status %+v", st)
	}
}

func TestStartInTheMiddle(t *testing.T) {
	at := int64(len(steps(1, 3)))
	for _, c := range []struct {
		name         string
		offset, line int64
		want         string
		number       int64 // of the last line
	}{
		{"with the line number", at, 3, "4 5", 5},
		{"without it", at, -1, "4 5", 0},
		{"not at a line", at - 7, 3, "1 2 3 4 5", 5},
		{"beyond the end", 1 << 40, 3, "1 2 3 4 5", 5},
		{"nowhere", 0, 0, "1 2 3 4 5", 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := Options{Start: func(_ string, size int64) (int64, int64) {
				if want := int64(len(steps(1, 5))); size != want && size != int64(len(steps(21, 22))) {
					t.Errorf("a stream of %d bytes, want %d", size, want)
				}
				return c.offset, c.line
			}}
			g := newFolder(t, start)
			g.write(name+".zst", inFrames(t, steps(1, 5)))
			g.gives(c.want)
			if got := g.tail.line.Number; got != c.number {
				t.Errorf("in frames: last line's number %d, want %d", got, c.number)
			}
			f := newFolder(t, start)
			f.write(name, steps(1, 5))
			f.gives(c.want)
			if got := f.tail.line.Number; got != c.number {
				t.Errorf("last line's number %d, want %d", got, c.number)
			}
			f.write(name, steps(21, 22)) // a start in the middle recognises other content as well
			f.gives("restart 21 22")
		})
	}
}

func TestRunPollsAtTicksAndWithoutWaitingForABacklog(t *testing.T) {
	ticks := make(chan time.Time)
	f := newFolder(t, Options{Ticks: ticks, PassBytes: 1})
	f.write(name, steps(1, 1500)) // more than one chunk
	lines := make(chan string, 4000)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- f.tail.Run(ctx, sendSink(lines)) }()
	for i := 1; i <= 1500; i++ {
		if got := <-lines; got != fmt.Sprint(i) {
			t.Fatalf("line %d is %q", i, got)
		}
	}
	ticks <- time.Time{} // the pass that found no more is over
	f.add(name, step(1501))
	ticks <- time.Time{}
	if got := <-lines; got != "1501" {
		t.Errorf("after a tick: %q", got)
	}
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Errorf("Run ended with %v", err)
	}
	for _, s := range f.tail.streams {
		if s.file != nil {
			t.Error("a file is open after Run")
		}
	}
}

type sendSink chan<- string

func (c sendSink) Line(_ int, l *record.Line) { c <- word(l) }
func (c sendSink) Restart(int, string)        { c <- "restart" }

func TestCloseAndPollAgain(t *testing.T) {
	f := newFolder(t, Options{})
	f.write(name, steps(1, 2))
	f.gives("1 2")
	f.tail.Close()
	f.rename(name, name+".1")
	f.add(name+".1", steps(3, 3))
	f.gives("3")
}

// askSink asks the tailer while it is being told.
type askSink struct {
	*Tailer
	paths []string
}

func (a *askSink) Line(int, *record.Line) { a.Progress() }

func (a *askSink) Restart(stream int, _ string) {
	a.paths = append(a.paths, filepath.Base(a.Streams()[stream].Path))
}

// TestASinkMayAsk: what the last pass left is told during the next one, without waiting for its end.
func TestASinkMayAsk(t *testing.T) {
	f := newFolder(t, Options{})
	f.write(name, steps(1, 3))
	sink := &askSink{Tailer: f.tail}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, text := range []string{"", steps(7, 7)} {
			if text != "" {
				f.write(name, text)
			}
			if _, err := f.tail.Poll(t.Context(), sink); err != nil {
				t.Error(err)
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the sink waits for the pass that calls it")
	}
	if len(sink.paths) != 1 || sink.paths[0] != name {
		t.Errorf("restarts of %q", sink.paths)
	}
}
