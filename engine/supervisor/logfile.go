package supervisor

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"opprof/engine/regular"
	"opprof/engine/vllm"
)

// logReader follows a log that other processes append to. A progress bar redraws its line with carriage returns and ends it once, at the
// end: each drawing counts as a line.
type logReader struct {
	path   string
	file   *os.File
	rest   []byte
	buffer []byte
}

const (
	logChunk   = 64 << 10
	maxLogLine = 64 << 10
	// maxLogPass bounds what one look reads, so that a log that floods does not keep the loop from its other work.
	maxLogPass = 4 << 20
)

// read gives the lines that are new since the last call, and whether there is more to read at once.
func (r *logReader) read() (lines []vllm.LogLine, more bool, err error) {
	if r.file == nil {
		if r.file, err = regular.Open(r.path); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return nil, false, err
		}
		r.buffer = make([]byte, logChunk)
	}
	for total := 0; total < maxLogPass; {
		n, err := r.file.Read(r.buffer)
		total += n
		lines = r.split(lines, r.buffer[:n])
		if errors.Is(err, io.EOF) || n == 0 {
			return lines, false, nil
		}
		if err != nil {
			return lines, false, err
		}
	}
	return lines, true, nil
}

// split cuts text into lines and keeps what is left for the next call.
func (r *logReader) split(lines []vllm.LogLine, text []byte) []vllm.LogLine {
	r.rest = append(r.rest, text...)
	for {
		i := bytes.IndexAny(r.rest, "\n\r")
		if i < 0 {
			break
		}
		if i > 0 {
			lines = append(lines, vllm.ParseLogLine(string(r.rest[:min(i, maxLogLine)])))
		}
		r.rest = r.rest[i+1:]
	}
	if len(r.rest) > maxLogLine {
		lines = append(lines, vllm.ParseLogLine(string(r.rest)))
		r.rest = nil
	}
	return lines
}

func (r *logReader) close() {
	if r.file != nil {
		_ = r.file.Close()
	}
}

// followLog posts the lines of a log until ctx ends. What comes through drain is closed once all that the log held at that moment is posted.
func followLog(ctx context.Context, path string, every time.Duration, drain <-chan chan<- struct{}, post func([]vllm.LogLine)) {
	r := &logReader{path: path}
	defer r.close()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var drained chan<- struct{}
	for {
		lines, more, _ := r.read() // a log that cannot be read says nothing; health and steps still do
		if len(lines) > 0 {
			post(lines)
		}
		if more {
			continue
		}
		if drained != nil {
			close(drained)
			drained = nil
		}
		select {
		case <-ctx.Done():
			return
		case drained = <-drain:
		case <-ticker.C:
		}
	}
}

// start is what the log said while the server started.
type start struct {
	startup vllm.Startup
	causes  causes
	lines   int64
	lineNS  int64 // when the newest line was seen
	phase   vllm.Phase
}

func newStart(nowNS int64) start {
	return start{lineNS: nowNS, phase: vllm.Phase{Name: vllm.PhaseLaunch}}
}

func (s *start) add(nowNS int64, lines []vllm.LogLine) {
	for _, l := range lines {
		s.lines++
		s.startup.Add(s.lines, l)
		s.causes.add(l)
		p := s.startup.Phase()
		if p.Name != s.phase.Name && p.Name != vllm.PhaseStopping { // a server that stops has overcome nothing
			s.causes.passed()
		}
		s.phase = p
	}
	s.lineNS = nowNS
}

// fact is something the server said about itself, "" if it did not.
func (s *start) fact(name string) string {
	for _, f := range s.startup.Facts() {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}
