package session

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"opprof/engine/index"
	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/engine/tail"
)

const (
	// Whole steps that are read around a moment of the past: at least so many, and at most.
	minAround = 4 * index.BlockSteps
	maxAround = 32 * index.BlockSteps
	// Views of the past that are kept: the picture and the cursor of a screen.
	viewsKept = 3
)

// past shows moments that lie in archives. Its methods may be called from any goroutine.
type past struct {
	mu       sync.Mutex
	archives []*archive
	views    []pastView // newest first
	versions uint64
}

// pastView is an assembled snapshot and the stretch of time for which it holds every step.
type pastView struct {
	fromNS, toNS int64
	whole        bool
	snapshot     *store.Snapshot
}

func (p *past) add(a *archive) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.archives = append(p.archives, a)
}

// list is the archives that can be asked.
func (p *past) list() []*archive {
	p.mu.Lock()
	defer p.mu.Unlock()
	var alive []*archive
	for _, a := range p.archives {
		if _, _, _, ok := a.view(); ok {
			alive = append(alive, a)
		}
	}
	return alive
}

// finished are the channels that close when the archives' building has ended. It is asked when the streams' ends have been read.
func (p *past) finished() []<-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []<-chan struct{}
	for _, a := range p.archives {
		list = append(list, a.finished)
	}
	return list
}

func (p *past) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.archives {
		a.close()
	}
}

// problems says what is missing while archives are not complete.
func (p *past) problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, a := range p.archives {
		if text := a.problem(); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// complete adds the lines of a stream's indexed part, and gives the first bad line behind it its number.
func (p *past) complete(d *rundir.Stream, st *tail.Status) {
	for _, a := range p.list() {
		lines, bad, firstBad, ok := a.lines()
		if a.path != st.Path || !ok || st.Parts > 0 {
			continue
		}
		d.Lines += lines
		d.BadLines += bad
		switch {
		case firstBad != "":
			d.FirstBad = firstBad
		case st.FirstRead > 0:
			d.FirstBad = strings.Replace(d.FirstBad, st.Path+": byte ", fmt.Sprintf("%s:%d: byte ", st.Path, lines+st.FirstRead), 1)
		}
	}
}

// drop forgets the archive of a file that was cut or replaced and reports whether there are others.
func (p *past) drop(path string) (left bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.archives {
		if a.path == path {
			a.dead.Store(true)
		}
		left = left || !a.dead.Load()
	}
	p.views = nil
	return left
}

// indexed reports whether every archive is complete, so that the store knows the whole run.
func (p *past) indexed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.archives {
		if _, _, whole, _ := a.view(); !whole && !a.dead.Load() {
			return false
		}
	}
	return true
}

// around is a snapshot with the whole steps of [fromNS, toNS], as far as maxAround allows, and the overview of the archives. It is nil when
// no archive can be asked.
func (p *past) around(ctx context.Context, fromNS, toNS int64) (*store.Snapshot, error) {
	archives := p.list()
	if len(archives) == 0 {
		return nil, nil
	}
	whole := p.indexed()
	if v := p.kept(fromNS, toNS, whole); v != nil {
		return v, nil
	}
	p.mu.Lock()
	p.versions++
	version := p.versions
	p.mu.Unlock()
	view := pastView{fromNS: fromNS, toNS: toNS, whole: whole}
	var parts []store.Part
	for _, a := range archives {
		own, err := a.partsAround(ctx, fromNS, toNS)
		if err != nil {
			return nil, err
		}
		parts = append(parts, own...)
	}
	view.snapshot = store.Assemble(version, !whole, parts)
	p.keep(view)
	return view.snapshot, nil
}

func (p *past) kept(fromNS, toNS int64, whole bool) *store.Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, v := range p.views {
		if v.whole == whole && v.fromNS == fromNS && v.toNS == toNS {
			return v.snapshot
		}
	}
	return nil
}

func (p *past) keep(v pastView) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.views = slices.Insert(p.views[:min(len(p.views), viewsKept-1)], 0, v)
}

// partsAround are the archive's engines with their steps around a stretch of time.
func (a *archive) partsAround(ctx context.Context, fromNS, toNS int64) ([]store.Part, error) {
	past, overviews, _, ok := a.view()
	if !ok {
		return nil, nil
	}
	parts := append([]store.Part(nil), overviews...)
	reader := io.NewSectionReader(a.file, 0, a.end)
	for i := range parts {
		p := &parts[i]
		for n := stepsFor(p, toNS-fromNS); ; n *= 2 {
			around, err := past.StepsAround(ctx, reader, p.Engine, fromNS+(toNS-fromNS)/2, n)
			if err != nil {
				return nil, err
			}
			p.Steps, p.Before = around.Steps, around.Before
			// A busier stretch than the run's mean needs more steps to reach back to its left edge.
			if n >= maxAround || len(p.Steps) < n || p.Steps[0].CompleteMonoNS+p.Before.OffsetNS <= fromNS {
				break
			}
		}
	}
	return parts, nil
}

// stepsFor is how many steps cover a span at the engine's mean rate, and a third more.
func stepsFor(p *store.Part, spanNS int64) int {
	c := &p.Overview.Run().Counts
	n := float64(spanNS) * float64(c.Steps) / float64(max(c.LastNS-c.FirstNS, 1)) * 4 / 3
	return int(min(max(n, minAround), maxAround))
}
