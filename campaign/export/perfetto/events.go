package perfetto

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// events writes trace events one after the other.
type events struct {
	w      *bufio.Writer
	buf    []byte
	baseNS int64
	n      int64
	err    error
}

// track is a thread of a process in the trace: a line of the picture.
type track struct{ pid, tid int64 }

const writeBytes = 1 << 20

// newEvents begins the trace. Times are written relative to baseNS, ns since 1970.
func newEvents(w io.Writer, baseNS int64, run string) *events {
	e := &events{w: bufio.NewWriterSize(w, writeBytes), baseNS: baseNS}
	head := append([]byte(`{"displayTimeUnit":"ns","otherData":{"baseTimeNanoseconds":"`), strconv.FormatInt(baseNS, 10)...)
	head = appendString(append(head, `","run":`...), run)
	e.put(append(head, `},"traceEvents":[`...))
	return e
}

func (e *events) put(b []byte) {
	if e.err == nil {
		_, e.err = e.w.Write(b)
	}
}

// begin starts an event of phase ph; what follows up to end are its other members.
func (e *events) begin(ph byte, name string, t track) {
	e.buf = e.buf[:0]
	if e.n > 0 {
		e.buf = append(e.buf, ',')
	}
	e.n++
	e.buf = append(e.buf, "\n{\"ph\":\""...)
	e.buf = append(e.buf, ph, '"', ',')
	e.buf = appendString(append(e.buf, `"name":`...), name)
	e.integer("pid", t.pid)
	e.integer("tid", t.tid)
}

func (e *events) key(name string) {
	e.buf = append(append(append(e.buf, ',', '"'), name...), '"', ':')
}

func (e *events) integer(name string, v int64) {
	e.key(name)
	e.buf = strconv.AppendInt(e.buf, v, 10)
}

func (e *events) text(name, v string) {
	e.key(name)
	e.buf = appendString(e.buf, v)
}

func (e *events) at(ns int64) {
	e.key("ts")
	e.buf = appendMicros(e.buf, ns-e.baseNS)
}

func (e *events) lasting(ns int64) {
	e.key("dur")
	e.buf = appendMicros(e.buf, ns)
}

// arguments opens the object of the event's arguments; write adds them with the same methods.
func (e *events) arguments(write func()) {
	e.buf = append(e.buf, `,"args":{`...)
	start := len(e.buf)
	write()
	if len(e.buf) > start { // its first member came with a comma
		e.buf = append(e.buf[:start], e.buf[start+1:]...)
	}
	e.buf = append(e.buf, '}')
}

func (e *events) end() {
	e.buf = append(e.buf, '}')
	e.put(e.buf)
}

// slice writes a span of a track.
func (e *events) slice(t track, name, category string, startNS, durNS int64, arguments func()) {
	e.begin('X', name, t)
	if category != "" {
		e.text("cat", category)
	}
	e.at(startNS)
	e.lasting(durNS)
	e.arguments(arguments)
	e.end()
}

// instant writes a moment of a track.
func (e *events) instant(t track, name string, atNS int64, arguments func()) {
	e.begin('i', name, t)
	e.text("s", "t")
	e.at(atNS)
	e.arguments(arguments)
	e.end()
}

// name says what a process or a thread is called, and where it stands among its siblings.
func (e *events) name(t track, kind, name string, order int64) {
	e.begin('M', kind+"_name", t)
	e.arguments(func() { e.text("name", name) })
	e.end()
	e.begin('M', kind+"_sort_index", t)
	e.arguments(func() { e.integer("sort_index", order) })
	e.end()
}

// close ends the trace.
func (e *events) close() error {
	e.put([]byte("\n]}\n"))
	if e.err == nil {
		e.err = e.w.Flush()
	}
	if e.err != nil {
		return fmt.Errorf("cannot write trace: %w", e.err)
	}
	return nil
}

// appendMicros prints nanoseconds as microseconds with three decimals.
func appendMicros(dst []byte, ns int64) []byte {
	if ns < 0 {
		dst, ns = append(dst, '-'), -ns
	}
	dst = append(strconv.AppendInt(dst, ns/1000, 10), '.')
	rest := ns % 1000
	return append(dst, byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

// appendString prints a JSON string.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil {
				quoted = []byte(`""`)
			}
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}
