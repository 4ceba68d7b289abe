package serverlog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"opprof/engine/vllm"
)

const info = "(EngineCore pid=6) INFO 11-30 01:57:19 [core.py:9] "

// TestFaults: what happens to the file, and what the log then holds.
func TestFaults(t *testing.T) {
	old := info + "one\n" + info + "two\n"
	tests := []struct {
		name     string
		do       func(w *world)
		messages string
		restarts int64
		gone     bool
	}{
		{"nothing happens", func(*world) {}, "one two", 0, false},
		{"it grows", func(w *world) { w.write(info + "three\n") }, "one two three", 0, false},
		{"an unfinished line waits", func(w *world) { w.write(info + "thr") }, "one two", 0, false},
		{"and is taken when it is finished", func(w *world) { w.write(info + "thr"); w.poll(); w.write("ee\n") }, "one two three", 0, false},
		{"it is cut", func(w *world) { w.must(os.WriteFile(w.path, []byte(info+"x\n"), 0o600)) }, "x", 1, false},
		{"it is cut to nothing", func(w *world) { w.must(os.Truncate(w.path, 0)) }, "", 1, false},
		{"it is written anew in place, longer", func(w *world) {
			w.must(os.WriteFile(w.path, []byte(info+"x\n"+info+strings.Repeat("y", 200)+"\n"), 0o600))
		}, "x " + strings.Repeat("y", 120), 1, false},
		{"another file takes its name", func(w *world) { w.replace(info + "x\n" + info + strings.Repeat("y", 99) + "\n") }, "x " + strings.Repeat("y", 99), 1, false},
		{"a copy takes its name and grows", func(w *world) { w.replace(old + info + "three\n") }, "one two three", 0, false},
		{"it is deleted", func(w *world) { w.must(os.Remove(w.path)) }, "one two", 0, true},
		{"it is deleted and comes back", func(w *world) { w.must(os.Remove(w.path)); w.poll(); w.write(info + "x\n") }, "x", 1, false},
		{"a folder takes its name", func(w *world) { w.must(os.Remove(w.path)); w.must(os.Mkdir(w.path, 0o700)) }, "one two", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, small())
			w.poll()
			if s := w.log.State(); s.Found || s.Lines != 0 {
				t.Fatalf("before there is a file: %+v", s)
			}
			w.write(old)
			w.poll()
			tt.do(w)
			s := w.poll()
			var messages []string
			for _, l := range s.recent {
				messages = append(messages, l.Message)
			}
			if got := strings.Join(messages, " "); got != tt.messages || s.Restarts != tt.restarts || s.Gone != tt.gone {
				t.Errorf("holds %q, %d restarts, gone %v; want %q, %d, %v", got, s.Restarts, s.Gone, tt.messages, tt.restarts, tt.gone)
			}
			if dir := tt.name == "a folder takes its name"; (s.Err != "") != dir {
				t.Errorf("problem %q", s.Err)
			}
		})
	}
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Fatal(err)
	}
}

// replace renames another file over the log.
func (w *world) replace(text string) {
	next := w.path + ".next"
	w.must(os.WriteFile(next, []byte(text), 0o600))
	w.must(os.Rename(next, w.path))
}

func TestVersionStandsStillWithoutNews(t *testing.T) {
	w := newWorld(t, small())
	w.write(info + "one\n")
	v := w.poll().Version
	if again := w.poll().Version; again != v {
		t.Errorf("version %d after %d without news", again, v)
	}
}

func TestFlushTakesTheUnfinishedLine(t *testing.T) {
	w := newWorld(t, small())
	w.write(info + "one\n" + info + "two")
	ticks := make(chan time.Time)
	w.log.Run(context.Background(), ticks, true)
	if s := w.log.State(); s.Lines != 2 || s.recent[1].Message != "two" {
		t.Errorf("%d lines: %+v", s.Lines, s.recent)
	}
	if v := w.look(Query{Filter: Filter{Text: "two"}}); v.Count != 1 {
		t.Errorf("%d lines pass", v.Count)
	}
}

// TestRun: lines come with ticks until the context ends.
func TestRun(t *testing.T) {
	w := newWorld(t, small())
	ctx, cancel := context.WithCancel(context.Background())
	ticks, ended := make(chan time.Time), make(chan struct{})
	go func() {
		w.log.Run(ctx, ticks, false)
		close(ended)
	}()
	ticks <- time.Time{} // the first look is over
	w.write(info + "one\n")
	ticks <- time.Time{}
	ticks <- time.Time{}
	if s := w.log.State(); s.Lines != 1 {
		t.Errorf("%d lines", s.Lines)
	}
	cancel()
	<-ended
}

// TestProgressBar: the bar of the graph capture redraws one line for minutes; its newest drawing counts before the line ends.
func TestProgressBar(t *testing.T) {
	w := newWorld(t, Options{})
	w.write("(Worker pid=7) Capturing CUDA graphs (decode, FULL):   0%|   | 0/51 [00:00<?, ?it/s]")
	if s := w.poll(); s.Phase.Total != 0 {
		t.Errorf("a drawing that may be cut counts: %+v", s.Phase)
	}
	w.write("\rCapturing CUDA graphs (decode, FULL):  25%|#  | 13/51 [00:00<00:06,  7.32it/s]\rCapturing CUDA gr")
	v := w.log.State().Version
	if s := w.poll(); s.Phase != (vllm.Phase{Name: vllm.PhaseGraphs, Done: 13, Total: 51}) || s.Version == v || s.Lines != 0 {
		t.Errorf("phase %+v after %d lines", s.Phase, s.Lines)
	}
}

func TestLookEndsWithItsContext(t *testing.T) {
	w := newWorld(t, small())
	w.write(strings.Repeat(info+"one\n", 100))
	w.poll()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := w.log.Look(ctx, Query{Filter: Filter{Text: "one"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := w.log.Look(context.Background(), Query{Filter: Filter{Text: "/(/"}}); err == nil {
		t.Error("a broken expression is taken")
	}
	w.must(os.Remove(w.path))
	if _, err := w.log.Look(context.Background(), Query{Goto: Goto{Line: 1}}); err == nil {
		t.Error("old lines of a deleted file are shown")
	}
	if v, err := w.log.Look(context.Background(), Query{Before: 3}); err != nil || len(v.Lines) != 4 {
		t.Errorf("the newest lines of a deleted file: %v", err)
	}
}

// TestSearchGoesOn: each answer of a search is a part more, and lines that come later are searched alone.
func TestSearchGoesOn(t *testing.T) {
	w := newWorld(t, Options{LookBytes: 1000})
	w.write(strings.Repeat(info+"one\n", 100))
	w.poll()
	q := Query{Filter: Filter{Text: "ONE"}}
	if w.look(q).Count != 0 {
		t.Error("capital letters do not count")
	}
	q.Filter.Text = "one"
	var counts []int64
	for {
		v, err := w.log.Look(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		counts = append(counts, v.Count)
		if v.Done {
			break
		}
	}
	if len(counts) < 5 || !slices.IsSorted(counts) || counts[len(counts)-1] != 100 {
		t.Errorf("counts %v", counts)
	}
	w.write(info + "one\n")
	w.poll()
	if v, _ := w.log.Look(context.Background(), q); !v.Done || v.Count != 101 {
		t.Errorf("%d of 101 after one more line", v.Count)
	}
}

func TestTimes(t *testing.T) {
	w := newWorld(t, small())
	line := func(stamp string) string { return "INFO " + stamp + " [a.py:1] x\n" }
	w.write("print\n" + line("12-31 23:59:58") + "INFO:     request\n" + line("01-01 00:00:01") + line("12-31 23:59:59") + line("01-01 00:00:03"))
	w.poll()
	if v := w.look(Query{Before: 9}); v.Lines[1].WallNS != 0 || v.FirstNS != 0 {
		t.Error("a time is known without anything to lay the log beside")
	}
	last := time.Date(2027, 1, 1, 1, 0, 4, 0, time.UTC) // a zone east of Greenwich, some seconds apart
	w.log.Align(Known{LastNS: last.UnixNano()})
	v := w.look(Query{Before: 9})
	var got []string
	for _, l := range v.Lines {
		if l.WallNS == 0 {
			got = append(got, "-")
			continue
		}
		got = append(got, time.Unix(0, l.WallNS).UTC().Format(time.DateTime))
	}
	want := []string{"-", "2027-01-01 00:59:58", "2027-01-01 00:59:58", "2027-01-01 01:00:01", "2027-01-01 00:59:59", "2027-01-01 01:00:03"}
	if !slices.Equal(got, want) {
		t.Errorf("times %v, want %v", got, want)
	}
	for at, number := range map[time.Duration]int64{-time.Hour: 1, -6 * time.Second: 3, -4 * time.Second: 5, 0: 6, time.Hour: 6} {
		v := w.look(Query{Goto: Goto{AtNS: last.Add(at).UnixNano()}})
		if n := v.Lines[v.Cursor].Number; n != number {
			t.Errorf("at %v stands line %d, want %d", at, n, number)
		}
	}
}

// TestFlat: after a hundred thousand lines the memory holds the marks and lines that it may.
func TestFlat(t *testing.T) {
	o := Options{Recent: 64, Stride: 4, Marks: 100}
	w := newWorld(t, o)
	var text strings.Builder
	for range 20_000 {
		text.WriteString("WARNING 11-30 01:57:19 [core.py:9] warm\n")
	}
	for range 5 {
		w.write(text.String())
		w.poll()
	}
	s := w.log.State()
	if s.Lines != 100_000 || len(s.index.marks) > 100 || len(s.problems.marks) > 100 || len(s.recent) > 128 {
		t.Errorf("%d lines, %d and %d marks, %d recent", s.Lines, len(s.index.marks), len(s.problems.marks), len(s.recent))
	}
	v := w.look(Query{Goto: Goto{Line: 50_000}, After: 2})
	if !slices.Equal(numbers(v.Lines), []int64{50_000, 50_001, 50_002}) {
		t.Errorf("lines %v", numbers(v.Lines))
	}
}

func FuzzLog(f *testing.F) {
	f.Add([]byte(info+"one\nTraceback (most recent call last):\n  x\rE\n"), "one", uint8(1))
	f.Add([]byte("\n\n\x00\xff\r\n"), "/./", uint8(9))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte, find string, at uint8) {
		path := filepath.Join(dir, "server.log")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		o := small()
		o.Recent = 2
		l := New(path, o)
		if err := l.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		l.Close()
		s := l.State()
		all, _ := oracle(string(text), o)
		if s.Lines != int64(len(all)) || s.Read != int64(len(text)) {
			t.Fatalf("%d lines of %d, %d bytes of %d", s.Lines, len(all), s.Read, len(text))
		}
		for _, q := range []Query{{Goto: Goto{Line: int64(at)}, Before: 3, After: 3}, {Filter: Filter{Text: find}, Goto: Goto{Line: int64(at), Jump: JumpNextMatch}, Context: true}} {
			v, err := l.Look(context.Background(), q)
			if q.Filter.Check() == nil && err != nil {
				t.Fatal(err)
			}
			if err == nil && len(v.Lines) > 0 && (v.Cursor < 0 || v.Cursor >= len(v.Lines)) {
				t.Fatalf("cursor %d of %d lines", v.Cursor, len(v.Lines))
			}
		}
	})
}

// BenchmarkPoll reads a log, and compares with a search for a text that is not in it: bytes a second of each.
func BenchmarkLog(b *testing.B) {
	path := filepath.Join(b.TempDir(), "server.log")
	text := strings.Repeat(info+"Avg prompt throughput: 12.3 tokens/s, Avg generation throughput: 456.7 tokens/s, Running: 8 reqs\n", 100_000)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			l := New(path, Options{})
			_ = l.Flush(ctx)
			l.Close()
		}
	})
	b.Run("search", func(b *testing.B) {
		l := New(path, Options{LookBytes: 1 << 30})
		_ = l.Flush(ctx)
		defer l.Close()
		b.SetBytes(int64(len(text)))
		n := 0
		for b.Loop() {
			n++
			if _, err := l.Look(ctx, Query{Filter: Filter{Text: "no such " + strings.Repeat("x", n%7)}}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
