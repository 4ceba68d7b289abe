package index

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"opprof/engine/record"
	"opprof/engine/store"
)

const dayBytes = 44 << 30

// wholeDay is a stream of 44 GiB and its saved index.
func wholeDay(t testing.TB) (p *patched, path string) {
	t.Helper()
	return wholeDayOf(t, 4*BlockSteps)
}

// wholeDayOf is a day that repeats so many steps.
func wholeDayOf(t testing.TB, steps int) (p *patched, path string) {
	t.Helper()
	p = newPatched(t, "h200-tp1", steps, 1<<62)
	repetitions := int64(dayBytes) / int64(len(p.unit))
	p.size = int64(len(p.head)) + repetitions*int64(len(p.unit))
	x := p.day(t, repetitions)
	if x.Size() != p.size {
		t.Fatalf("the index covers %d bytes of %d", x.Size(), p.size)
	}
	path = filepath.Join(t.TempDir(), "day.opidx")
	if err := x.Save(path, p); err != nil {
		t.Fatal(err)
	}
	return p, path
}

func TestPatchedStreamAndItsIndex(t *testing.T) {
	p := newPatched(t, "h200-tp1", 2*BlockSteps, 1<<40)
	size := int64(len(p.head) + 5*len(p.unit))
	data := p.bytes(t, size)
	for _, off := range []int64{0, 1, 700, int64(len(p.head)) + int64(len(p.unit)) - 3, size - 5000} {
		for _, n := range []int{1, 7, 64, 4999} {
			got := make([]byte, n)
			if _, err := p.ReadAt(got, off); err != nil || !bytes.Equal(got, data[off:off+int64(n)]) {
				t.Fatalf("%d bytes at %d differ (%v)", n, off, err)
			}
		}
	}
	o := newOracle(t, data)
	if o.bad > 0 || len(o.steps) != 10*BlockSteps {
		t.Fatalf("%d steps, %d bad", len(o.steps), o.bad)
	}
	for i := range o.steps {
		if o.steps[i].StepIndex != patchedFirstStep+int64(i) || o.steps[i].at.Gap {
			t.Fatalf("step %d: %+v", i, o.steps[i])
		}
	}
	sameIndex(t, p.day(t, 5), indexed(t, data))
	checkIndex(t, indexed(t, data), data)
}

// liveHeap is what a garbage collection leaves.
func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

func TestADayLongStreamStaysSmall(t *testing.T) {
	p, path := wholeDay(t)
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("stream %d MB, %d steps; index %.1f MB", p.size>>20, p.size/int64(len(p.unit))*p.steps, float64(st.Size())/1e6)
	if st.Size()*1000 > p.size {
		t.Errorf("the index has %d bytes, more than a thousandth of the stream", st.Size())
	}
	heap := liveHeap()
	read := &counting{ReaderAt: p}
	var x *Index
	var parts []store.Part
	opening := allocated(func() {
		if x, err = Load(path, read, p.size); err == nil {
			parts, err = x.Parts("day")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if read.bytes > 4<<20 {
		t.Errorf("opening reads %d bytes of the stream", read.bytes)
	}
	steps := p.size / int64(len(p.unit)) * p.steps
	middle := patchedFirstStep + steps/2
	read.bytes = 0
	var at int64
	jump := allocated(func() {
		var ok bool
		at, ok, err = x.AtStep(t.Context(), read, parts[0].Engine, middle)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		a, err := x.StepsAround(t.Context(), read, parts[0].Engine, at, 4096)
		if err != nil {
			t.Fatal(err)
		}
		parts[0].Steps, parts[0].Before = a.Steps, a.Before
	})
	if read.bytes > 8<<20 {
		t.Errorf("a jump reads %d bytes of the stream", read.bytes)
	}
	f := store.Assemble(1, false, parts).Frame(store.Query{AtNS: at, SpanNS: 10_000_000_000, Columns: 180})
	if f.Now.StepIndex != middle || f.Run.Counts.Steps != steps {
		t.Errorf("the picture is of step %d of %d, want %d of %d", f.Now.StepIndex, f.Run.Counts.Steps, middle, steps)
	}
	kept := liveHeap() - heap
	t.Logf("opening allocates %d MB, a jump %d MB; %d MB stay", opening>>20, jump>>20, kept>>20)
	if limit := int64(256 << 20); opening > limit || jump > limit || kept > limit {
		t.Errorf("more than %d MB", limit>>20)
	}
	runtime.KeepAlive(x)
}

func TestSearchOfADayReadsLittle(t *testing.T) {
	p, path := wholeDay(t)
	x, err := Load(path, p, p.size)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	end := x.blocks[len(x.blocks)-1].LastNS
	for _, ev := range []store.Event{store.EventPreemption, store.EventGraphMiss, store.EventStall} {
		read := &counting{ReaderAt: p}
		at, ok, err := x.Find(t.Context(), read, ev, "", end-1_000_000_000_000, false)
		if err != nil || !ok || read.bytes > 8<<20 {
			t.Errorf("event %d: at %d, %v, %v, %d bytes read", ev, at, ok, err, read.bytes)
		}
	}
	read := &counting{ReaderAt: p}
	_, ok, err := x.Search(t.Context(), read, "", 0, true,
		func(b *Block) bool { return b.Zones[DecodeBatchSize].Meets(1_000_000, math.MaxInt64) },
		func(s *record.Step, _ store.Place) bool { return true })
	if ok || err != nil || read.bytes > 0 {
		t.Errorf("what no zone holds: %v, %v, %d bytes read", ok, err, read.bytes)
	}
}

func BenchmarkDay(b *testing.B) {
	p, path := wholeDay(b)
	load := func(b *testing.B) (*Index, []store.Part) {
		x, err := Load(path, p, p.size)
		if err != nil {
			b.Fatal(err)
		}
		parts, err := x.Parts("day")
		if err != nil {
			b.Fatal(err)
		}
		return x, parts
	}
	b.Run("open-indexed", func(b *testing.B) {
		for b.Loop() {
			x, parts := load(b)
			store.Assemble(1, false, parts).Frame(store.Query{Columns: 180})
			x.Close()
		}
	})
	b.Run("open-probed", func(b *testing.B) {
		for b.Loop() {
			s, err := Probe(b.Context(), p, p.size, ProbeCount)
			if err != nil {
				b.Fatal(err)
			}
			store.Assemble(1, true, s.Parts("day")).Frame(store.Query{Columns: 180})
		}
	})
	x, parts := load(b)
	defer x.Close()
	first, last := x.blocks[0].FirstNS, x.blocks[len(x.blocks)-1].LastNS
	jump := func(b *testing.B, around func(at int64) (Around, error)) {
		for i := int64(1); b.Loop(); i++ {
			at := first + (last-first)/997*(i*613%997)
			a, err := around(at)
			if err != nil {
				b.Fatal(err)
			}
			parts[0].Steps, parts[0].Before = a.Steps, a.Before
			store.Assemble(uint64(i), false, parts).Frame(store.Query{AtNS: at, SpanNS: 10_000_000_000, Columns: 180})
		}
	}
	b.Run("jump-indexed", func(b *testing.B) {
		jump(b, func(at int64) (Around, error) { return x.StepsAround(b.Context(), p, parts[0].Engine, at, 4096) })
	})
	s, err := Probe(b.Context(), p, p.size, ProbeCount)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("jump-probed", func(b *testing.B) {
		jump(b, func(at int64) (Around, error) { return s.StepsAround(b.Context(), p, parts[0].Engine, at, 4096) })
	})
}

// BenchmarkBuild compares building with reading and decoding alone, over the same bytes.
func BenchmarkBuild(b *testing.B) {
	p := newPatched(b, "h200-tp1", 4*BlockSteps, 1<<40)
	data := p.bytes(b, int64(len(p.head)+16*len(p.unit)))
	b.Run("index", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if err := NewBuilder().Extend(b.Context(), bytes.NewReader(data), int64(len(data)), nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			r := record.NewReader(bytes.NewReader(data), "stream")
			for r.Scan() {
			}
			if r.Err() != nil {
				b.Fatal(r.Err())
			}
		}
	})
}
