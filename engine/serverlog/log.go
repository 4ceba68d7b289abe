package serverlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"opprof/engine/regular"
	"opprof/engine/vllm"
)

// Options of a Log. The zero value fits a screen.
type Options struct {
	Recent    int // newest lines kept in memory; 0 is 4,096
	Stride    int // lines between two marks of the index while it is short; 0 is 256
	Marks     int // marks kept of each index; 0 is 16,384
	PassBytes int // read by one Poll at most; 0 is 8 MiB
	LineMax   int // bytes from which a line is taken as several; 0 is 1 MiB
	TextMax   int // bytes kept of a message; 0 is 4 KiB
	LookBytes int // searched by one Look at most; 0 is 16 MiB
}

func (o Options) filled() Options {
	for _, d := range []struct {
		at    *int
		value int
	}{{&o.Recent, 4096}, {&o.Stride, 256}, {&o.Marks, 16384}, {&o.PassBytes, 8 << 20}, {&o.LineMax, 1 << 20}, {&o.TextMax, 4 << 10}, {&o.LookBytes, 16 << 20}} {
		if *d.at <= 0 {
			*d.at = d.value
		}
	}
	return o
}

const (
	chunkBytes = 64 << 10
	// markBytes before the end of what was read tell a file from another one that took its place.
	markBytes = 64
	// startupLines is how many lines may pass until a start is over: what comes later is no start-up fact.
	startupLines = 5_000
)

// Log follows one file. Poll belongs to one goroutine; State, Align and Look may be called from any.
type Log struct {
	path    string
	options Options
	state   atomic.Pointer[State]
	known   atomic.Pointer[Known]
	search  search

	// Of the polling goroutine.
	file    *os.File // nil while there is none
	next    State    // what the next publication says
	joiner  joiner
	startup vllm.Startup
	tail    []byte // the last bytes before next.Read
	partial []byte // the unfinished line, as it was shown to startup
}

// New returns a log that follows path, which need not exist yet.
func New(path string, o Options) *Log {
	l := &Log{path: path, options: o.filled()}
	l.search.free = make(chan struct{}, 1)
	l.reset()
	l.publish()
	return l
}

// State is the newest state. It never is nil.
func (l *Log) State() *State { return l.state.Load() }

// reset forgets everything but the restarts.
func (l *Log) reset() {
	l.next = State{
		Version: l.next.Version, Path: l.path, Found: l.next.Found, Restarts: l.next.Restarts, Restart: l.next.Restart,
		index: newSparse(int64(l.options.Stride)), problems: newSparse(1), errors: newSparse(1),
	}
	l.joiner, l.startup = joiner{}, vllm.Startup{}
	l.tail, l.partial = nil, nil
	l.next.Phase = l.startup.Phase()
}

func (l *Log) publish() {
	l.next.Version++
	s := l.next
	l.state.Store(&s)
}

// Poll reads what was added since the last call, no more than PassBytes of it: more says that there is more. A problem with the file is
// part of the State; the only error is that of ctx.
func (l *Log) Poll(ctx context.Context) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	before := l.next
	l.next.Err = ""
	if err := l.check(); err != nil {
		l.next.Err = fmt.Sprintf("cannot read server log: %v", err)
		l.close()
	}
	if l.file != nil {
		more, err = l.read(ctx)
	}
	if l.changed(&before) {
		l.publish()
	}
	return more, err
}

func (l *Log) changed(before *State) bool {
	n := &l.next
	return n.Read != before.Read || n.Size != before.Size || n.Found != before.Found || n.Gone != before.Gone || n.Err != before.Err ||
		n.Restarts != before.Restarts || n.Phase != before.Phase
}

// Flush takes an unfinished last line as a whole one: the file of a server that has ended grows no more.
func (l *Log) Flush(ctx context.Context) error {
	for {
		more, err := l.Poll(ctx)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if l.file == nil || l.next.Read >= l.next.Size {
		return nil
	}
	rest := make([]byte, l.next.Size-l.next.Read)
	n, err := l.file.ReadAt(rest, l.next.Read)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil // the next Poll says so
	}
	l.take(rest[:n], l.next.Read)
	l.next.Read += int64(n)
	l.publish()
	return nil
}

// Close closes the file. The last State stays.
func (l *Log) Close() { l.close() }

func (l *Log) close() {
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// check opens the file and sees whether it still is the one that was read.
func (l *Log) check() error {
	st, err := os.Stat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		l.next.Gone = l.next.Found
		return nil
	}
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file (%s)", l.path, st.Mode().Type())
	}
	if l.file == nil || !os.SameFile(st, l.next.file) {
		if st, err = l.reopen(); err != nil {
			return err
		}
	}
	l.next.Found, l.next.Gone = true, false
	switch same, err := l.sameText(); {
	case err != nil:
		return err
	case st.Size() < l.next.Read:
		l.again(fmt.Sprintf("the file was cut from %d to %d bytes", l.next.Read, st.Size()))
	case !same:
		l.again("the file holds other text than was read")
	}
	l.next.file, l.next.Size = st, st.Size()
	return nil
}

// reopen opens the file that has the name now. Reading goes on where it stopped if it holds what was read: a copy that took the name.
func (l *Log) reopen() (fs.FileInfo, error) {
	f, err := regular.Open(l.path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	l.close()
	l.file = f
	return st, nil
}

// sameText compares what stands before the end of what was read.
func (l *Log) sameText() (bool, error) {
	if len(l.tail) == 0 {
		return true, nil
	}
	now := make([]byte, len(l.tail))
	n, err := l.file.ReadAt(now, l.next.Read-int64(len(now)))
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return string(now[:n]) == string(l.tail), nil
}

// again starts over with the same file.
func (l *Log) again(why string) {
	l.reset()
	l.next.Restarts++
	l.next.Restart = why + ": read again from its start"
}

// read takes the whole lines that are there.
func (l *Log) read(ctx context.Context) (more bool, err error) {
	start := l.next.Read
	if start >= l.next.Size {
		return false, nil
	}
	in := newScanner(l.file, start, l.next.Size, chunkBytes, l.options.LineMax)
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			err = ctx.Err()
			break
		}
		raw, offset, scanErr := in.next()
		if scanErr != nil {
			if !errors.Is(scanErr, io.EOF) {
				l.next.Err = fmt.Sprintf("cannot read server log: %v", scanErr)
			}
			l.redrawn(in.rest())
			break
		}
		l.take(raw, offset)
		l.next.Read = in.offset
		if in.offset-start >= int64(l.options.PassBytes) {
			more = in.offset < l.next.Size
			break
		}
	}
	l.keepTail()
	return more, err
}

// keepTail remembers the bytes before the end of what was read.
func (l *Log) keepTail() {
	n := min(l.next.Read, markBytes)
	tail := make([]byte, n)
	if got, _ := l.file.ReadAt(tail, l.next.Read-n); int64(got) == n {
		l.tail = tail
	}
}

// redrawn shows an unfinished progress bar to the start-up facts: vLLM ends its line only when all graphs are captured.
func (l *Log) redrawn(rest []byte) {
	at := strings.LastIndexByte(string(rest), '\r')
	if at <= 0 || l.next.Lines >= startupLines || string(rest[:at]) == string(l.partial) {
		return
	}
	l.partial = append(l.partial[:0], rest[:at]...)
	line := vllm.ParseLogLine(string(l.partial))
	l.startup.Add(l.next.Lines+1, line)
	l.next.Phase = l.startup.Phase()
}

// take adds one line.
func (l *Log) take(raw []byte, offset int64) {
	n := &l.next
	n.Lines++
	line := newLine(raw, n.Lines, offset, l.options.TextMax)
	l.joiner.place(&line)
	if line.Time.Known() {
		if !n.first.Known() {
			n.first = line.Said
		}
		n.last = line.Said
	}
	n.index.add(&line, l.joiner.open, l.options.Marks)
	switch {
	case line.Head != 0:
		n.Joined++
	default:
		n.ByLevel[line.Severity]++
		l.count(&line)
	}
	l.starting(&line)
	l.keep(line)
}

func (l *Log) count(line *Line) {
	n := &l.next
	if line.Severity >= vllm.LevelWarning {
		n.problems.add(line, l.joiner.open, l.options.Marks)
	}
	if line.Severity >= vllm.LevelError {
		n.errors.add(line, l.joiner.open, l.options.Marks)
		kept := *line
		if n.FirstError == nil {
			n.FirstError = &kept
		}
		n.LastError = &kept
	}
}

// starting gathers what the server says while it starts, and that it stops.
func (l *Log) starting(line *Line) {
	n := &l.next
	if n.Lines > startupLines && !strings.HasPrefix(line.Message, "[shutdown]") {
		return
	}
	l.startup.Add(line.Number, line.LogLine)
	phase := l.startup.Phase()
	if phase == n.Phase && n.Lines%64 != 0 && !isStart(phase) {
		return
	}
	if phase.Name != n.Phase.Name {
		n.Phases = append(n.Phases[:len(n.Phases):len(n.Phases)], PhaseStart{phase.Name, line.Number, line.Said})
	}
	n.Phase = phase
	n.Facts, n.Args = l.startup.Facts(), l.startup.Args()
}

// isStart reports whether facts may still come.
func isStart(p vllm.Phase) bool { return p.Name != vllm.PhaseReady && p.Name != vllm.PhaseStopping }

// keep appends to the newest lines. The slices of older States are not changed.
func (l *Log) keep(line Line) {
	n := &l.next
	if len(n.recent) >= 2*l.options.Recent {
		kept := make([]Line, l.options.Recent, 2*l.options.Recent)
		copy(kept, n.recent[len(n.recent)-l.options.Recent:])
		n.recent = kept
	}
	n.recent = append(n.recent, line)
}

// Run polls on ticks until ctx ends. With finished, it ends when the file was read whole.
func (l *Log) Run(ctx context.Context, ticks <-chan time.Time, finished bool) {
	defer l.close()
	if finished {
		_ = l.Flush(ctx)
		return
	}
	for {
		more, err := l.Poll(ctx)
		if err != nil {
			return
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
	}
}

// search is the search that was asked for last. Whoever takes its place in free may go on with it.
type search struct {
	free  chan struct{}
	mu    sync.Mutex
	found *found
}
