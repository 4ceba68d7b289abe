package export

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"opprof/campaign/export/columnar"
	"opprof/campaign/export/dataset"
	"opprof/campaign/export/feed"
	"opprof/campaign/export/tables"
	"opprof/campaign/export/windows"
	"opprof/engine/armed"
	"opprof/engine/record"
	"opprof/traces/family"
)

// Source is a run to export.
type Source struct {
	Campaign string // "" for a run of its own
	Run      string
	Path     string
	Streams  []string
	Traces   []string
	Rules    *family.Rules
	Armed    *armed.List // what the run's folder tells of its windows; nil numbers them by time
}

// Tables are the names of the tables that Parquet writes.
func Tables() []string {
	return []string{tables.Steps().Name, tables.Events().Name, tables.Windows().Name, tables.Iterations().Name, tables.Families().Name}
}

// Summary is what was read of a run, and what could not be.
type Summary struct {
	Bytes    int64    `json:"bytes"` // of Layer-1 lines, inflated
	Lines    int64    `json:"lines"`
	Steps    int64    `json:"steps"`
	BadLines int64    `json:"bad_lines"`
	Torn     int64    `json:"torn_lines"` // last lines without their end
	Unknown  int64    `json:"unknown_lines"`
	FirstBad string   `json:"first_bad"`
	Windows  int64    `json:"windows"`
	Problems []string `json:"problems"`
}

// Progress is told how many bytes of the streams were read, of how many. It is called often.
type Progress func(done, total int64)

// Parquet exports one run into a dataset: all of it or, with an error, nothing.
func Parquet(ctx context.Context, to *dataset.Dataset, s Source, progress Progress) (dataset.Manifest, Summary, error) {
	e, err := to.Begin(s.Campaign, s.Run, s.Path)
	if err != nil {
		return dataset.Manifest{}, Summary{}, err
	}
	defer e.Abort()
	p := &parquetExport{source: s, to: e, marks: windows.NewMarkers()}
	count, err := p.streams(ctx, progress)
	if err != nil {
		return dataset.Manifest{}, Summary{}, fmt.Errorf("cannot export %s: %w", s.Path, err)
	}
	sum := Summary{Bytes: count.Bytes, Lines: count.Lines, Steps: count.Steps, BadLines: count.Bad, Torn: count.Torn, Unknown: count.Unknown,
		FirstBad: count.FirstBad, Problems: append([]string{}, count.Problems...)}
	if err := p.writeWindows(ctx, &sum); err != nil {
		return dataset.Manifest{}, Summary{}, fmt.Errorf("cannot export %s: %w", s.Path, err)
	}
	if count.Lines == 0 && sum.Windows == 0 {
		return dataset.Manifest{}, sum, fmt.Errorf("cannot export %s: it holds neither records nor traces%s", s.Path, because(sum.Problems))
	}
	m, err := e.Commit(sum)
	return m, sum, err
}

func because(problems []string) string {
	if len(problems) == 0 {
		return ""
	}
	return ": " + problems[0]
}

// parquetExport is one run on its way.
type parquetExport struct {
	source Source
	to     *dataset.Export
	sinks  map[string]*engineSinks // by engine, of the stream being read
	order  []string                // engines of sinks, as they came
	last   *engineSinks
	marks  *windows.Markers
	seen   []string // engines in the order of their first line
}

type engineSinks struct {
	engine string
	steps  sink[tables.Step]
	events sink[tables.Event]
}

const (
	// openEngines bounds the files that are open at once: an engine has a stream of its own, but files may have been put together.
	openEngines = 64
	// fullEngines of them fill whole row groups; the others end theirs early, so that memory stays bounded.
	fullEngines = 4
	smallGroup  = columnar.GroupRows / 64
	// maxEngines is more than any run has: a damaged file may name an engine a line.
	maxEngines = 4096
)

func (p *parquetExport) streams(ctx context.Context, progress Progress) (feed.Count, error) {
	in, err := feed.Open(p.source.Streams)
	if err != nil {
		return feed.Count{}, err
	}
	p.sinks = map[string]*engineSinks{}
	told := int64(-1)
	take := func(it *feed.Item) error {
		if done := in.Read(); progress != nil && done != told {
			told = done
			progress(done, in.Bytes())
		}
		return p.line(it)
	}
	count, err := in.Each(ctx, take, p.endStreams)
	if err == nil && progress != nil {
		progress(in.Bytes(), in.Bytes())
	}
	return count, err
}

func (p *parquetExport) line(it *feed.Item) error {
	s, err := p.of(it.Engine)
	if err != nil {
		return err
	}
	l := it.Line
	p.marks.Add(it.Stream, l)
	if l.Kind == record.KindStep {
		return s.steps.add(p.to, &tables.Step{Step: l.Step, Place: it.Place, Line: l.Number})
	}
	if e, ok := tables.NewEvent(l); ok {
		return s.events.add(p.to, &e)
	}
	return nil
}

// of gives the files of an engine.
func (p *parquetExport) of(engine string) (*engineSinks, error) {
	if p.last != nil && p.last.engine == engine {
		return p.last, nil
	}
	s := p.sinks[engine]
	if s == nil {
		if len(p.order) == openEngines {
			if err := p.endStreams(); err != nil {
				return nil, err
			}
		}
		if !slices.Contains(p.seen, engine) {
			if len(p.seen) == maxEngines {
				return nil, fmt.Errorf("its records name more than %d engines: they are damaged", maxEngines)
			}
			p.seen = append(p.seen, strings.Clone(engine))
		}
		s = p.begin(strings.Clone(engine))
	}
	p.last = s
	return s, nil
}

func (p *parquetExport) begin(engine string) *engineSinks {
	meta, group := p.meta(engine), 0
	if len(p.order) >= fullEngines {
		group = smallGroup
	}
	s := &engineSinks{engine: engine, steps: sink[tables.Step]{table: tables.Steps(), engine: engine, meta: meta, group: group},
		events: sink[tables.Event]{table: tables.Events(), engine: engine, meta: meta, group: group}}
	p.sinks[engine] = s
	p.order = append(p.order, engine)
	return s
}

// endStreams closes the files of a stream that was read to its end. An engine that comes again gets another part.
func (p *parquetExport) endStreams() error {
	for _, engine := range p.order {
		s := p.sinks[engine]
		if err := s.steps.end(p.to); err != nil {
			return err
		}
		if err := s.events.end(p.to); err != nil {
			return err
		}
	}
	p.order, p.last = nil, nil
	clear(p.sinks)
	return nil
}

// meta is the key-value metadata of a file.
func (p *parquetExport) meta(engine string) map[string]string {
	context, chunk, tail := record.ContextEdges(), record.ChunkEdges(), record.ChunkTailEdges()
	return map[string]string{"opprof.campaign": p.source.Campaign, "opprof.run": p.source.Run, "opprof.engine": engine,
		"opprof.context_edges": list(context[:]), "opprof.chunk_edges": list(chunk[:]), "opprof.chunk_tail_edges": list(tail[:])}
}

// list prints integers as a JSON array.
func list(values []int64) string { return strings.ReplaceAll(fmt.Sprint(values), " ", ",") }
