package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"opprof/engine/control"
	"opprof/engine/regular"
	"opprof/engine/window"
)

// packs are the windows whose traces are still to be compressed, one after the other.
type packs struct {
	queue      []pack
	running    bool
	stop       context.CancelFunc // of the one that runs
	given      bool               // up: the rest stays plain
	deadlineNS int64              // once the server is gone
}

// pack is one verified window.
type pack struct {
	n     int
	paths []string
	then  func(packed []string) // takes the paths that there are afterwards
}

// packedEvent says what became of a window's plain traces.
type packedEvent struct {
	N      int    `json:"n"`
	Files  int    `json:"files"` // compressed
	Plain  int    `json:"plain"` // left as they were
	Reason string `json:"reason"`
}

func (p *packs) busy() bool { return p.running || len(p.queue) > 0 }

// compressLater queues a window that was verified just now.
func (s *Supervisor) compressLater(w window.Window) {
	p := pack{n: w.N}
	for _, f := range w.Files {
		p.paths = append(p.paths, f.Path)
	}
	p.then = func(packed []string) {
		for i := range w.Files {
			for j := range w.Found {
				if w.Found[j].Path == w.Files[i].Path {
					w.Found[j].Path = packed[i]
				}
			}
			w.Files[i].Path = packed[i]
		}
		s.summarise(w)
	}
	s.windows.packs.queue = append(s.windows.packs.queue, p)
}

// compressLeft queues what the supervisor before had not compressed when it was killed, by the summaries of its windows.
func (s *Supervisor) compressLeft(taken []window.Taken) {
	if s.config.Watched != nil || s.config.Gzip {
		return
	}
	for i := range taken {
		if taken[i].State != control.WindowVerified {
			continue
		}
		summary, err := readSummary(s.config.Dir, i+1)
		if err != nil {
			s.remark("the traces of window %d stay as they are: %v", i+1, err)
			continue
		}
		p := pack{n: i + 1, paths: summary.paths(s.config.Dir)}
		if !anyPlain(p.paths) {
			continue
		}
		p.then = func(packed []string) { s.renameTraces(summary, packed) }
		s.windows.packs.queue = append(s.windows.packs.queue, p)
	}
}

// paths are the window's traces. One that was compressed by a process that was killed before it wrote the summary has its new name.
func (s *Summary) paths(runDir string) []string {
	var list []string
	for _, r := range s.Ranks {
		list = append(list, whereNow(filepath.Join(runDir, r.File)))
	}
	return list
}

// anyPlain reports whether a trace that can be compressed is there.
func anyPlain(paths []string) bool {
	for _, path := range paths {
		if st, err := os.Stat(path); filepath.Ext(path) == ".json" && err == nil && st.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// renameTraces writes a summary anew with the names that its traces have now.
func (s *Supervisor) renameTraces(summary Summary, packed []string) {
	dir := s.config.Dir
	for i := range summary.Ranks {
		if below, err := filepath.Rel(dir, packed[i]); err == nil {
			summary.Ranks[i].File = below
		}
	}
	s.keepSummary(summary)
}

// summaryMax bounds the bytes of a summary: a window of many steps has some hundred kB.
const summaryMax = 16 << 20

func readSummary(runDir string, n int) (Summary, error) {
	var s Summary
	path := filepath.Join(windowDir(runDir, n), "summary.json")
	text, err := regular.Read(path, summaryMax)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err == nil && (s.Schema != SummarySchema || s.N != n) {
		err = fmt.Errorf("schema %d of window %d: expected %d of window %d", s.Schema, s.N, SummarySchema, n)
	}
	for _, r := range s.Ranks {
		if err == nil && !filepath.IsLocal(r.File) {
			err = fmt.Errorf("trace %q does not lie below the run's folder", r.File)
		}
	}
	if err != nil {
		return Summary{}, fmt.Errorf("cannot read summary: %s: %w", path, err)
	}
	return s, nil
}

// compressNext compresses the next verified window, one at a time and none while another is open.
func (s *Supervisor) compressNext() {
	p := &s.windows.packs
	if _, open := s.windows.controller.Active(); open || p.running || p.given || len(p.queue) == 0 {
		return
	}
	next := p.queue[0]
	p.queue, p.running = p.queue[1:], true
	ctx, cancel := context.WithCancel(s.ctx)
	p.stop = cancel
	s.do(func(context.Context) func() {
		defer cancel()
		packed, err := s.config.Compress(ctx, next.paths)
		return func() { s.compressed(next, packed, err) }
	})
}

func (s *Supervisor) compressed(p pack, packed []string, err error) {
	s.windows.packs.running = false
	event := packedEvent{N: p.n}
	for i := range packed {
		switch {
		case packed[i] != p.paths[i]:
			event.Files++
		case strings.HasSuffix(packed[i], ".json"):
			event.Plain++
		}
	}
	switch {
	case err == nil:
	case s.windows.packs.given && errors.Is(err, context.Canceled):
		event.Reason = s.tooLate()
	default:
		event.Reason = err.Error()
		s.remark("%v", err)
	}
	if event != (packedEvent{N: p.n}) {
		s.record(eventPacked, event)
	}
	p.then(packed)
	s.compressNext()
}

// giveUpPacking leaves what is not compressed yet as it is: whole, and plain. The next supervisor of an open run goes on with it.
func (s *Supervisor) giveUpPacking() {
	p := &s.windows.packs
	if p.given {
		return
	}
	p.given = true
	for _, left := range p.queue {
		s.record(eventPacked, packedEvent{N: left.n, Plain: len(left.paths), Reason: s.tooLate()})
	}
	p.queue = nil
	if p.stop != nil {
		p.stop()
	}
}

// tooLate is why traces are left plain at the end of a run.
func (s *Supervisor) tooLate() string {
	return fmt.Sprintf("the server is gone, and compressing took more than %s: opprof compact compresses what is plain", s.config.Timing.Pack)
}
