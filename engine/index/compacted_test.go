package index

import (
	"context"
	"encoding/binary"
	"io"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"opprof/engine/frames"
	"opprof/engine/store"
)

// compacted is the file that a patched stream is compressed to: a frame for each repetition, made when it is read and filled up to a fixed length
// with a skippable frame, so that any byte can be computed. Reading it costs a compression more than reading a real one.
type compacted struct {
	stream  *patched
	encoder *zstd.Encoder
	frames  int64 // repetitions; the first frame holds the header line, too
	length  int64 // of a frame in the file
	table   []byte

	mu     sync.Mutex
	number int64 // of the frame that was made last
	frame  []byte
	read   int64 // bytes of the file
}

const skippable = 0x184D2A5E

func newCompacted(t testing.TB, p *patched) *compacted {
	t.Helper()
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
	if err != nil {
		t.Fatal(err)
	}
	c := &compacted{stream: p, encoder: e, frames: (p.size - int64(len(p.head))) / int64(len(p.unit)), number: -1}
	for _, i := range []int64{0, 1, c.frames / 3, c.frames - 1} {
		c.length = max(c.length, int64(len(c.pack(t, i)))*21/20+4096)
	}
	order := binary.LittleEndian
	c.table = order.AppendUint32(nil, skippable)
	c.table = order.AppendUint32(c.table, uint32(8*c.frames+9))
	for i := range c.frames {
		c.table = order.AppendUint32(c.table, uint32(c.length))
		c.table = order.AppendUint32(c.table, uint32(c.holds(i)))
	}
	c.table = order.AppendUint32(c.table, uint32(c.frames))
	c.table = append(c.table, 0)
	c.table = order.AppendUint32(c.table, 0x8F92EAB1)
	return c
}

func (c *compacted) size() int64 { return c.frames*c.length + int64(len(c.table)) }

// holds is how many bytes of the stream a frame has.
func (c *compacted) holds(i int64) int {
	if i == 0 {
		return len(c.stream.head) + len(c.stream.unit)
	}
	return len(c.stream.unit)
}

func (c *compacted) pack(t testing.TB, i int64) []byte {
	data := make([]byte, c.holds(i))
	at := int64(0)
	if i > 0 {
		at = int64(len(c.stream.head)) + i*int64(len(c.stream.unit))
	}
	if _, err := c.stream.ReadAt(data, at); err != nil {
		if t == nil {
			panic(err)
		}
		t.Fatal(err)
	}
	return c.encoder.EncodeAll(data, nil)
}

func (c *compacted) ReadAt(b []byte, off int64) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for n < len(b) && off+int64(n) < c.size() {
		n += copy(b[n:], c.from(off+int64(n)))
	}
	c.read += int64(n)
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// from is what the file holds from a byte to the end of its frame.
func (c *compacted) from(off int64) []byte {
	i, at := off/c.length, off%c.length
	if i >= c.frames {
		return c.table[off-c.frames*c.length:]
	}
	if i != c.number {
		frame := c.pack(nil, i)
		left := c.length - int64(len(frame)) - 8
		if left < 0 {
			panic("a frame outgrew its length")
		}
		frame = binary.LittleEndian.AppendUint32(frame, skippable)
		frame = binary.LittleEndian.AppendUint32(frame, uint32(left))
		c.number, c.frame = i, append(frame, make([]byte, left)...)
	}
	return c.frame[at:]
}

// compactedDay is a compacted stream of 44 GiB and the saved index of its lines.
func compactedDay(t testing.TB) (c *compacted, r *frames.Reader, path string) {
	t.Helper()
	p, path := wholeDayOf(t, BlockSteps)
	c = newCompacted(t, p)
	r, err := frames.NewReader(c, c.size())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if r.Size() != p.size {
		t.Fatalf("the frames hold %d bytes, the stream has %d", r.Size(), p.size)
	}
	return c, r, path
}

func TestACompactedDayOpensAndJumpsWithLittle(t *testing.T) {
	c, r, path := compactedDay(t)
	heap := liveHeap()
	c.read = 0
	var x *Index
	var parts []store.Part
	var err error
	opening := allocated(func() {
		if x, err = Load(path, r, r.Size()); err == nil {
			parts, err = x.Parts("day")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if c.read > 8*c.length {
		t.Errorf("opening reads %d bytes of the file, a frame has %d", c.read, c.length)
	}
	c.read = 0
	middle := patchedFirstStep + c.frames*c.stream.steps/2
	var at int64
	jump := allocated(func() {
		var ok bool
		if at, ok, err = x.AtStep(t.Context(), r, parts[0].Engine, middle); err != nil || !ok {
			t.Fatal(ok, err)
		}
		a, err := x.StepsAround(t.Context(), r, parts[0].Engine, at, 4096)
		if err != nil {
			t.Fatal(err)
		}
		parts[0].Steps, parts[0].Before = a.Steps, a.Before
	})
	if c.read > 8*c.length {
		t.Errorf("a jump reads %d bytes of the file, a frame has %d", c.read, c.length)
	}
	f := store.Assemble(1, false, parts).Frame(store.Query{AtNS: at, SpanNS: 10_000_000_000, Columns: 180})
	if f.Now.StepIndex != middle || f.Run.Counts.Steps != c.frames*c.stream.steps {
		t.Errorf("the picture is of step %d of %d", f.Now.StepIndex, f.Run.Counts.Steps)
	}
	kept := liveHeap() - heap
	t.Logf("stream %d MB, file %d MB with padding; opening allocates %d MB, a jump %d MB; %d MB stay", r.Size()>>20, c.size()>>20, opening>>20, jump>>20, kept>>20)
	if limit := int64(256 << 20); opening > limit || jump > limit || kept > limit {
		t.Errorf("more than %d MB", limit>>20)
	}
}

func TestACompactedDayIsSampled(t *testing.T) {
	c, r, _ := compactedDay(t)
	c.read = 0
	s, err := Probe(t.Context(), r, r.Size(), ProbeCount)
	if err != nil {
		t.Fatal(err)
	}
	if c.read > 2*(ProbeCount+8)*c.length {
		t.Errorf("samples read %d bytes of the file", c.read)
	}
	middle := patchedFirstStep + c.frames*c.stream.steps/3
	at, ok, err := s.AtStep(t.Context(), r, s.Parts("day")[0].Engine, middle)
	if err != nil || !ok || at == 0 {
		t.Errorf("step %d: at %d, %v, %v", middle, at, ok, err)
	}
}

func BenchmarkCompactedDay(b *testing.B) {
	c, r, path := compactedDay(b)
	open := func(b *testing.B) (*frames.Reader, *Index, []store.Part) {
		r, err := frames.NewReader(c, c.size())
		if err != nil {
			b.Fatal(err)
		}
		x, err := Load(path, r, r.Size())
		if err != nil {
			b.Fatal(err)
		}
		parts, err := x.Parts("day")
		if err != nil {
			b.Fatal(err)
		}
		return r, x, parts
	}
	b.Run("open-indexed", func(b *testing.B) {
		for b.Loop() {
			r, x, parts := open(b)
			store.Assemble(1, false, parts).Frame(store.Query{Columns: 180})
			x.Close()
			r.Close()
		}
	})
	b.Run("open-probed", func(b *testing.B) {
		for b.Loop() {
			s, err := Probe(b.Context(), r, r.Size(), ProbeCount)
			if err != nil {
				b.Fatal(err)
			}
			store.Assemble(1, true, s.Parts("day")).Frame(store.Query{Columns: 180})
		}
	})
	_, x, parts := open(b)
	defer x.Close()
	first, last := x.blocks[0].FirstNS, x.blocks[len(x.blocks)-1].LastNS
	s, err := Probe(b.Context(), r, r.Size(), ProbeCount)
	if err != nil {
		b.Fatal(err)
	}
	for name, past := range map[string]interface {
		StepsAround(ctx context.Context, r io.ReaderAt, engine string, atNS int64, n int) (Around, error)
	}{"jump-indexed": x, "jump-probed": s} {
		b.Run(name, func(b *testing.B) {
			for i := int64(1); b.Loop(); i++ {
				at := first + (last-first)/997*(i*613%997)
				a, err := past.StepsAround(b.Context(), r, parts[0].Engine, at, 4096)
				if err != nil {
					b.Fatal(err)
				}
				parts[0].Steps, parts[0].Before = a.Steps, a.Before
				store.Assemble(uint64(i), false, parts).Frame(store.Query{AtNS: at, SpanNS: 10_000_000_000, Columns: 180})
			}
		})
	}
	b.Run("frame-made", func(b *testing.B) { // what a real file does not cost: of each frame that is read above
		for i := int64(0); b.Loop(); i++ {
			c.pack(nil, i*7919%c.frames)
		}
	})
}
