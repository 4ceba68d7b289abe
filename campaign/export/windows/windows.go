// Package windows lists the profiler windows of a run for exports: numbered as on the screen, each with the engine that it belongs to.
package windows

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"opprof/engine/armed"
	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/traces/catalog"
	"opprof/traces/family"
)

// Markers gathers what a run's records say about windows. Not for concurrent use.
type Markers struct {
	store   *store.Store
	engines []string // in the order of their first line
	ranks   int64
}

// NewMarkers returns Markers that have seen nothing.
func NewMarkers() *Markers { return &Markers{store: store.New(store.Options{RingSteps: 1})} }

// Add takes a line of a stream. Steps say nothing about windows but whose they may be.
func (m *Markers) Add(stream int, l *record.Line) {
	switch l.Kind {
	case record.KindStep:
		m.saw(l.Step.EngineID)
		return
	case record.KindHeader:
		m.ranks = max(l.Header.TensorParallel, 1) * max(l.Header.PipelineParallel, 1)
		m.saw(l.Header.EngineID)
	case record.KindProfile:
	default:
		return
	}
	m.store.Line(stream, l)
}

func (m *Markers) saw(id string) {
	if n := len(m.engines); n > 0 && m.engines[n-1] == id || n >= maxEngines || slices.Contains(m.engines, id) {
		return
	}
	m.engines = append(m.engines, strings.Clone(id))
}

// timelineEvents bounds a timeline, of 40 bytes an event.
const timelineEvents = 4_000_000

// maxEngines is more than any run has: a damaged file may name an engine a line.
const maxEngines = 1024

// Source is where windows come from.
type Source struct {
	Traces  []string
	Streams []string
	Rules   *family.Rules
	Armed   *armed.List // what the run's folder tells of its windows; nil numbers them by time
}

// Window is a window and its engine, "" when nothing tells.
type Window struct {
	catalog.Window
	Engine string
}

// List lists the windows by time. Of those that open accepts by their name, the timelines are read too; nil opens none.
func List(ctx context.Context, s Source, m *Markers, open func(name string) bool) ([]Window, error) {
	c := catalog.New(catalog.Options{
		Traces: func() ([]string, error) { return s.Traces, nil }, Streams: func() ([]string, error) { return s.Streams, nil },
		Markers: m.windows, Ranks: func() int { return int(m.ranks) }, Rules: func() (*family.Rules, error) { return s.Rules, nil },
		Armed: func() *armed.List { return s.Armed },
		Now:   time.Now, MaxFiles: max(len(s.Traces), 1), Events: timelineEvents,
	})
	if err := c.Look(ctx); err != nil {
		return nil, fmt.Errorf("cannot read windows: %w", err)
	}
	if open != nil {
		var keys []string
		for _, w := range c.List().Windows {
			if open(w.Name()) {
				keys = append(keys, w.Key)
			}
		}
		c.Open(keys)
		if err := c.Look(ctx); err != nil {
			return nil, fmt.Errorf("cannot read windows: %w", err)
		}
	}
	var out []Window
	for _, w := range c.List().Windows {
		out = append(out, Window{Window: w, Engine: m.engineOf(&w)})
	}
	return out, nil
}

func (m *Markers) windows() []store.Window {
	return m.store.Snapshot().Frame(store.Query{Columns: 1}).Windows
}

// engineOf is the engine of a window: its marker's, or the only one of its data-parallel rank.
func (m *Markers) engineOf(w *catalog.Window) string {
	if w.Marker != nil {
		return w.Marker.Engine
	}
	dp := int64(-1)
	if w.Detail != nil {
		dp = w.Detail.DP()
	}
	var fit []string
	for _, id := range m.engines {
		var own int64
		if _, err := fmt.Sscanf(id, "dp%d-", &own); err != nil || dp < 0 || own == dp {
			fit = append(fit, id)
		}
	}
	if len(fit) == 1 {
		return fit[0]
	}
	return ""
}
