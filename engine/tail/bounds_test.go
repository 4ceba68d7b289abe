package tail

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opprof/engine/record"
)

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
