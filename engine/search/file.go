package search

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"opprof/engine/index"
	"opprof/engine/query"
	"opprof/engine/record"
	"opprof/engine/regular"
	"opprof/engine/store"
)

const (
	// chunkSteps is how many steps are asked between two looks at the context.
	chunkSteps = 1024
	// zstdWindowMax bounds the memory that a hostile frame can ask for.
	zstdWindowMax = 64 << 20
	// indexedBytes is the least size for which looking for an index is worth it.
	indexedBytes = 1 << 20
)

// file is one stream file and how far it was searched. Only Extend changes it, its cells and counts under the lock of the search.
type file struct {
	path, base string
	info       fs.FileInfo
	size       int64 // bytes that were searched
	begun      bool
	index      *index.Index // nil when there is none
	blocks     int          // of the index that were searched
	offset     int64        // of what follows the index, or else of all, that was searched: a line's start
	last       []byte       // the bytes before it, by which a file that was replaced is told
	sequences  map[string]store.Sequence
	before     *file // the part before it, whose sequences go on here

	cells  []cell
	counts Counts
}

func (f *file) close() {
	if f.index != nil {
		_ = f.index.Close()
		f.index = nil
	}
}

// extend searches a file from where the last time has ended.
func (f *file) extend(ctx context.Context, s *Search, o *openFile, before *file) error {
	if o.size == f.size && f.begun {
		return nil
	}
	if before != nil && before.base == f.base {
		f.before = before
	}
	if o.stream == nil {
		return f.extendForward(ctx, s, o)
	}
	if last, err := lastBytes(o.stream, f.offset); err != nil || !bytes.Equal(last, f.last) {
		f.restart(s)
	}
	if !f.begun {
		f.begin(s, o)
	}
	if err := f.extendIndexed(ctx, s, o.stream); err != nil {
		return err
	}
	end := o.size
	if !s.options.Final {
		var err error
		if end, err = lastLine(o.stream, f.offset, o.size); err != nil {
			return fmt.Errorf("cannot search %s: %w", f.path, err)
		}
	}
	return f.extendLines(ctx, s, o.stream, end)
}

// extendLines searches what no index covers.
func (f *file) extendLines(ctx context.Context, s *Search, stream io.ReaderAt, end int64) (err error) {
	from := f.offset
	r := record.NewReader(io.NewSectionReader(stream, from, end-from), f.path)
	scanned := f.scan(ctx, s, r, r.Offset)
	f.offset = from + r.Offset()
	if f.last, err = lastBytes(stream, f.offset); scanned == nil && err == nil {
		f.size = end
	}
	return errors.Join(scanned, err)
}

// restart forgets a file that was replaced by another one.
func (f *file) restart(s *Search) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(f)
	f.close()
	f.begun, f.blocks, f.offset, f.size, f.last = false, 0, 0, 0, nil
}

// lastBytes are up to 4 kB before a byte: a few lines.
func lastBytes(r io.ReaderAt, end int64) ([]byte, error) {
	buf := make([]byte, min(end, 4<<10))
	_, err := r.ReadAt(buf, end-int64(len(buf)))
	if err == io.EOF {
		err = nil
	}
	return buf, err
}

// begin looks for the index.
func (f *file) begin(s *Search, o *openFile) {
	f.begun, f.sequences = true, map[string]store.Sequence{}
	if o.size < indexedBytes {
		return
	}
	for _, path := range index.Paths(f.path, s.options.CacheDir) {
		x, err := index.Load(path, o.stream, o.size)
		if err != nil {
			continue // a cache that is not there or not believed
		}
		f.index = x
		for _, e := range x.Engines() {
			f.sequences[e.ID] = e.Sequence
		}
		return
	}
}

// extendIndexed searches the blocks of the index.
func (f *file) extendIndexed(ctx context.Context, s *Search, stream io.ReaderAt) error {
	if f.index == nil || f.offset > 0 {
		return nil
	}
	reader := index.NewBlockReader(stream)
	blocks, engines := f.index.Blocks(), f.index.Engines()
	at := int64(0)
	if f.blocks > 0 {
		at = blocks[f.blocks-1].End
	}
	for ; f.blocks < len(blocks); f.blocks++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := &blocks[f.blocks]
		t := &taker{query: s.query, told: s.options.Match, cell: cell{block: b}}
		if b.Steps > 0 {
			t.engine = engines[b.Engine].ID
		}
		read := b.End - b.Offset
		switch {
		case b.Steps == 0 || s.options.Engine != "" && t.engine != s.options.Engine:
			read = 0
		case f.excluded(s, b):
			t.counts.Steps, read = b.Steps, 0
		default:
			if err := reader.Read(ctx, b, t.take); err != nil {
				return fmt.Errorf("cannot search %s: %w", f.path, err)
			}
		}
		s.commit(f, b.End-at, read, t)
		at = b.End
	}
	f.offset = f.index.Size()
	return nil
}

// excluded reports whether the index alone tells that every step of a block answers no.
func (f *file) excluded(s *Search, b *index.Block) bool {
	return s.query.Excludes(func(field string) (query.Range, bool) {
		if field == "period_ms" {
			if known, err := f.index.PeriodsKnown(f.blocks); err != nil || !known {
				return query.Range{}, false
			}
		}
		return rangeOf(b, field)
	})
}

// scan asks every step that a reader gives. done tells how many bytes of the file that has come to, counted from the call.
func (f *file) scan(ctx context.Context, s *Search, r *record.Reader, done func() int64) error {
	committed, steps := int64(0), 0
	takers := map[string]*taker{}
	commit := func() {
		list := make([]*taker, 0, len(takers))
		for _, t := range takers {
			list = append(list, t)
		}
		now := done()
		s.commit(f, now-committed, now-committed, list...)
		committed, steps = now, 0
		clear(takers)
	}
	for r.Scan() {
		l := r.Line()
		if l.Kind != record.KindStep {
			continue
		}
		p := f.place(&l.Step)
		if s.options.Engine != "" && l.Step.EngineID != s.options.Engine {
			continue
		}
		t := takers[l.Step.EngineID]
		if t == nil {
			t = &taker{query: s.query, told: s.options.Match, cell: cell{engine: l.Step.EngineID}}
			takers[l.Step.EngineID] = t
		}
		t.take(&l.Step, p)
		if steps++; steps == chunkSteps {
			if ctx.Err() != nil {
				break
			}
			commit()
		}
	}
	err := r.Err()
	if cause := ctx.Err(); cause != nil {
		err = cause // the last steps were asked, and are counted below
	}
	commit()
	return err
}

// place puts a step on the time axis.
func (f *file) place(step *record.Step) store.Place {
	q, ok := f.sequences[step.EngineID]
	if !ok && f.before != nil {
		if before, known := f.before.sequences[step.EngineID]; known {
			q = before.Join(step)
		}
	}
	p := q.Next(step)
	f.sequences[step.EngineID] = q
	return p
}

// extendForward searches a compressed file from its start: what it held before is counted anew.
func (f *file) extendForward(ctx context.Context, s *Search, o *openFile) error {
	f.restart(s)
	f.begun, f.sequences = true, map[string]store.Sequence{}
	handle, err := regular.Open(f.path)
	if err != nil {
		return fmt.Errorf("cannot search: %w", err)
	}
	defer handle.Close()
	in := &counter{r: io.LimitReader(handle, o.size)}
	stream, err := unpack(bufio.NewReader(in))
	if err != nil {
		return fmt.Errorf("cannot search %s: %w", f.path, err)
	}
	defer stream.Close()
	if err := f.scan(ctx, s, record.NewReader(stream, f.path), func() int64 { return in.n }); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err // a file that ends in its middle is searched up to there
	}
	f.size = o.size
	s.commit(f, o.size-f.counts.Bytes, 0) // what the decompressor did not need
	return nil
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// unpack goes by the first bytes, not by the name.
func unpack(r *bufio.Reader) (io.ReadCloser, error) {
	head, err := r.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0] == 0x1f && head[1] == 0x8b {
		return gzip.NewReader(r)
	}
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindowMax))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

// lastLine is the end of the last whole line in [from, size).
func lastLine(r io.ReaderAt, from, size int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for end := size; end > from; {
		begin := max(from, end-int64(len(buf)))
		n, err := r.ReadAt(buf[:end-begin], begin)
		if err != nil && err != io.EOF {
			return from, err
		}
		for i := n - 1; i >= 0; i-- {
			if buf[i] == '\n' {
				return begin + int64(i) + 1, nil
			}
		}
		end = begin
	}
	return from, nil
}

// zoneOf is the number that an index keeps of a field.
func zoneOf(field string) (index.Field, bool) {
	zone, ok := map[string]index.Field{
		"scheduled_requests": index.ScheduledRequests, "decode_batch_size": index.DecodeBatchSize, "prefill_requests": index.PrefillRequests,
		"prefill_tokens": index.PrefillTokens, "decode_tokens": index.DecodeTokens, "preemptions": index.Preemptions, "running": index.Running,
		"waiting": index.Waiting, "deferred": index.Deferred, "kv.usage": index.KVUsagePPM, "period_ms": index.PeriodNS,
		"graph.padding": index.PaddingTokens,
	}[field]
	return zone, ok
}

// rangeOf is what a block tells of a field.
func rangeOf(b *index.Block, field string) (query.Range, bool) {
	noGraph := b.Graphs&(1<<record.GraphUnknown) != 0
	switch field {
	case "step_index":
		return query.Range{Min: float64(b.MinStep), Max: float64(b.MaxStep)}, true
	case "graph.mode":
		r := query.Range{Missing: noGraph}
		for mode := range record.GraphOther {
			if b.Graphs&(1<<mode) != 0 {
				r.Texts = append(r.Texts, mode.String())
			}
		}
		return r, b.Graphs&(1<<record.GraphOther) == 0
	}
	zone, ok := zoneOf(field)
	if !ok {
		return query.Range{}, false
	}
	z := b.Zones[zone]
	const sure = 1 << 52
	if !z.Empty() && (z.Min < -sure || z.Max > sure) {
		return query.Range{}, false
	}
	r := query.Range{Min: float64(z.Min), Max: float64(z.Max)}
	switch zone {
	case index.KVUsagePPM:
		r.Min, r.Max = (r.Min-1)/1e6, (r.Max+1)/1e6 // rounding may have moved either bound by less than one
	case index.PeriodNS:
		r.Min, r.Max = r.Min/1e6, r.Max/1e6
	case index.PaddingTokens:
		r.Missing = noGraph
	}
	if z.Empty() {
		r.Min, r.Max = math.Inf(1), math.Inf(-1)
	}
	return r, true
}
