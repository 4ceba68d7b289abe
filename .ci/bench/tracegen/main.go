// Tracegen repeats the events of a real trace until a size is reached: each copy is moved on in time and gets correlations of its own, so that
// the result is what a profiler would have written over a longer window.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func main() {
	in := flag.String("in", "", "trace to repeat, packed with zstd")
	out := flag.String("out", "", "file to write; .gz packs it")
	seconds := flag.Int64("shift", 0, "seconds by which all events are moved on")
	mb := flag.Int64("mb", 0, "size before packing, in MB; 0 writes the trace once")
	flag.Parse()
	if err := run(*in, *out, *mb*1_000_000, *seconds*1_000_000); err != nil {
		fmt.Fprintf(os.Stderr, "tracegen: %v\n", err)
		os.Exit(1)
	}
}

func run(in, out string, size, us int64) error {
	head, events, tail, err := parts(in)
	if err != nil {
		return err
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	var w io.WriteCloser = f
	if strings.HasSuffix(out, ".gz") {
		w = gzip.NewWriter(f)
	}
	err = repeat(w, head, events, tail, size, us)
	if w != f {
		err = errors.Join(err, w.Close())
	}
	return errors.Join(err, f.Close())
}

// parts cuts a trace at its event list.
func parts(path string) (head, events, tail []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, nil, err
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		return nil, nil, nil, err
	}
	defer z.Close()
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, nil, nil, err
	}
	opening := []byte("\"traceEvents\": [\n")
	start := bytes.Index(text, opening) + len(opening)
	end := bytes.LastIndex(text, []byte("\n  ]"))
	if start < len(opening) || end < start {
		return nil, nil, nil, fmt.Errorf("%s is not laid out as Kineto writes it", path)
	}
	return text[:start], text[start:end], text[end:], nil
}

// repeat writes copies of the events. A copy begins where the one before ended, rounded up to a second.
func repeat(w io.Writer, head, events, tail []byte, size, us int64) error {
	b := bufio.NewWriterSize(w, 1<<20)
	first, last := bounds(events, `"ts": `)
	_, correlations := bounds(events, `"correlation": `)
	period := (last - first + 2_000_000) / 1_000_000 * 1_000_000
	written := int64(len(head) + len(tail))
	if _, err := b.Write(head); err != nil {
		return err
	}
	for n := int64(0); n == 0 || written+int64(len(events)) <= size; n++ {
		if n > 0 {
			if _, err := b.WriteString(",\n"); err != nil {
				return err
			}
		}
		shifted, err := shift(b, events, us+n*period, n*correlations)
		if err != nil {
			return err
		}
		written += shifted
	}
	if _, err := b.Write(tail); err != nil {
		return err
	}
	return b.Flush()
}

// bounds are the smallest positive and the largest whole number after a key.
func bounds(text []byte, key string) (least, most int64) {
	for {
		_, rest, ok := bytes.Cut(text, []byte(key))
		if !ok {
			return least, most
		}
		v, n := whole(rest)
		if v > 0 && (least == 0 || v < least) {
			least = v
		}
		most = max(most, v)
		text = rest[n:]
	}
}

func whole(b []byte) (v int64, n int) {
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	v, err := strconv.ParseInt(string(b[:n]), 10, 64)
	if err != nil {
		return 0, n
	}
	return v, n
}

// shift writes the events with ts and correlation moved, and returns how many bytes that were.
func shift(w *bufio.Writer, events []byte, us, correlation int64) (int64, error) {
	ts, corr := []byte(`"ts": `), []byte(`"correlation": `)
	written := int64(0)
	write := func(b []byte) error {
		n, err := w.Write(b)
		written += int64(n)
		return err
	}
	for len(events) > 0 {
		line := events
		if i := bytes.IndexByte(events, '\n'); i >= 0 {
			line = events[:i+1]
		}
		events = events[len(line):]
		for _, k := range []struct {
			key []byte
			by  int64
		}{{ts, us}, {corr, correlation}} {
			i := bytes.Index(line, k.key)
			if i < 0 {
				continue
			}
			if err := write(line[:i+len(k.key)]); err != nil {
				return written, err
			}
			v, n := whole(line[i+len(k.key):])
			if err := write(strconv.AppendInt(nil, v+k.by, 10)); err != nil {
				return written, err
			}
			line = line[i+len(k.key)+n:]
		}
		if err := write(line); err != nil {
			return written, err
		}
	}
	return written, nil
}
