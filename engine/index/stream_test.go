package index

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/testdata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recording is a stream of a real server.
func recording(t testing.TB, name string) []byte {
	t.Helper()
	data, err := testdata.Recording(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// placed is a step as the oracle sees it.
type placed struct {
	record.Step
	at store.Place
}

// oracle reads a whole stream with a record.Reader.
type oracle struct {
	steps    []placed
	profiles []record.Profile
	bad      int64
	lines    int64
	sequence store.Sequence
}

func newOracle(t testing.TB, data []byte) *oracle {
	t.Helper()
	o := &oracle{}
	r := record.NewReader(bytes.NewReader(data), "stream")
	for r.Scan() {
		l := r.Line()
		if l.Err != nil && l.Err.TornTail {
			break
		}
		switch l.Kind {
		case record.KindStep:
			o.steps = append(o.steps, placed{l.Step, o.sequence.Next(&l.Step)})
		case record.KindProfile:
			o.profiles = append(o.profiles, l.Profile)
		case record.KindBad:
			o.bad++
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	o.lines = int64(bytes.Count(data, []byte("\n")))
	return o
}

// checkIndex compares an index with the oracle's reading of the lines that it covers.
func checkIndex(t testing.TB, x *Index, data []byte) {
	t.Helper()
	whole := int64(bytes.LastIndexByte(data, '\n') + 1)
	if x.Size() != whole {
		t.Fatalf("covers %d bytes of %d", x.Size(), whole)
	}
	o := newOracle(t, data[:whole])
	if x.Lines() != o.lines || x.Steps() != int64(len(o.steps)) {
		t.Fatalf("%d lines, %d steps, want %d, %d", x.Lines(), x.Steps(), o.lines, len(o.steps))
	}
	next, end := 0, int64(0)
	for i := range x.Blocks() {
		b := &x.Blocks()[i]
		if b.Offset != end {
			t.Fatalf("block %d begins at byte %d, want %d", i, b.Offset, end)
		}
		end = b.End
		steps := o.steps[next : next+int(b.Steps)]
		next += int(b.Steps)
		checkBlock(t, x, i, steps, data)
	}
	if end != whole || next != len(o.steps) {
		t.Fatalf("the blocks end at byte %d and step %d, want %d and %d", end, next, whole, len(o.steps))
	}
	if len(x.Engines()) > 0 {
		e := x.Engines()[0]
		if !reflect.DeepEqual(e.Profiles, o.profiles) || e.Loss.BadLines != o.bad || e.Sequence != o.sequence {
			t.Fatalf("engine %+v\nwant bad %d, profiles %+v, sequence %+v", e, o.bad, o.profiles, o.sequence)
		}
	}
	checkLevels(t, x)
}

func checkBlock(t testing.TB, x *Index, i int, steps []placed, data []byte) {
	t.Helper()
	b, want := &x.Blocks()[i], newBlock(0, 0, 0, store.Sequence{})
	r := &store.Rollup{}
	for k := range steps {
		want.add(&steps[k].Step, steps[k].at)
		r.Add(&steps[k].Step, steps[k].at)
	}
	want.Engine, want.Offset, want.End, want.Before = b.Engine, b.Offset, b.End, b.Before
	want.FirstLine = int64(bytes.Count(data[:b.Offset], []byte("\n")))
	if *b != *want {
		t.Fatalf("block %d is\n%+v\nwant\n%+v", i, *b, *want)
	}
	closeRollup(r, want)
	got, err := x.levels[0].encoded(i)
	if err != nil || !bytes.Equal(got, r.AppendBinary(nil)) {
		t.Fatalf("rollup %d differs (%v)", i, err)
	}
	k := 0
	err = newBlockDecoder(bytes.NewReader(data)).decode(t.Context(), b, func(s *record.Step, p store.Place) {
		if *s != steps[k].Step || p != steps[k].at {
			t.Fatalf("block %d, step %d is\n%+v %+v\nwant\n%+v %+v", i, k, *s, p, steps[k].Step, steps[k].at)
		}
		k++
	})
	if err != nil || k != len(steps) {
		t.Fatalf("block %d: %d steps of %d, %v", i, k, len(steps), err)
	}
}

// checkLevels compares groups with the blocks that they merge.
func checkLevels(t testing.TB, x *Index) {
	t.Helper()
	for k := 1; k < Levels; k++ {
		next := int32(0)
		for i, g := range x.levels[k].groups {
			if g.first != next || int(g.n) > levelBlocks(k) {
				t.Fatalf("level %d: group %d is %+v, want first %d", k, i, g, next)
			}
			next += g.n
			want := &store.Rollup{}
			for b := g.first; b < g.first+g.n; b++ {
				r, err := x.levels[0].rollup(int(b))
				if err != nil {
					t.Fatal(err)
				}
				want.Merge(r)
			}
			if got, err := x.levels[k].encoded(i); err != nil || !bytes.Equal(got, want.AppendBinary(nil)) {
				t.Fatalf("level %d: rollup of %+v differs (%v)", k, g, err)
			}
		}
		if int(next) != len(x.Blocks()) {
			t.Fatalf("level %d covers %d blocks of %d", k, next, len(x.Blocks()))
		}
	}
}

// patched is a recording repeated without end: an io.ReaderAt in which step_index and times go on from one repetition to the next. The
// patched numbers have a fixed width, so that any byte can be computed.
type patched struct {
	head   []byte // header line
	unit   []byte // step lines
	steps  int64  // in a unit
	spanNS int64  // of a unit
	fields []patchedField
	ends   []int64 // of the lines, in the unit
	size   int64
}

type patchedField struct {
	at, width int
	value     int64 // in the first repetition
	add       int64 // for each further one
}

const (
	patchedFirstStep = 1_000_000_000
	patchedMonoNS    = 1_000_000_000_000_000
)

// newPatched repeats the first n steps of a recording; n is a multiple of BlockSteps, so that blocks repeat too.
func newPatched(t testing.TB, name string, n int, size int64) *patched {
	t.Helper()
	p := &patched{size: size, steps: int64(n)}
	lines := bytes.SplitAfter(recording(t, name), []byte("\n"))
	p.head = lines[0]
	d := record.NewDecoder(name)
	var l record.Line
	var first, last record.Step
	var taken []record.Step
	var texts [][]byte
	for _, line := range lines[1:] {
		if d.Next(line, &l) == 0 || l.Kind != record.KindStep {
			continue
		}
		if len(taken) == 0 {
			first = l.Step
		}
		last = l.Step
		taken, texts = append(taken, l.Step), append(texts, line)
		if len(taken) == n {
			break
		}
	}
	if len(taken) < n {
		t.Fatalf("%s has %d steps", name, len(taken))
	}
	p.spanNS = last.CompleteMonoNS - first.SubmitMonoNS + 1_000_000
	for i := range taken {
		s := &taken[i]
		p.line(texts[i], []numberIn{
			{"step_index", s.StepIndex, patchedFirstStep + int64(i), int64(n)},
			{"submit_wall_ns", s.SubmitWallNS, s.SubmitWallNS, p.spanNS},
			{"submit_mono_ns", s.SubmitMonoNS, patchedMonoNS + s.SubmitMonoNS, p.spanNS},
			{"complete_mono_ns", s.CompleteMonoNS, patchedMonoNS + s.CompleteMonoNS, p.spanNS},
		})
	}
	return p
}

type numberIn struct {
	name            string
	old, value, add int64
}

func (p *patched) line(text []byte, numbers []numberIn) {
	for _, n := range numbers {
		old := fmt.Sprintf("%q:%d,", n.name, n.old)
		at := bytes.Index(text, []byte(old))
		value := strconv.FormatInt(n.value, 10)
		p.unit = append(p.unit, text[:at+len(n.name)+3]...)
		p.fields = append(p.fields, patchedField{len(p.unit), len(value), n.value, n.add})
		p.unit = append(p.unit, value...)
		text = text[at+len(old)-1:]
	}
	p.unit = append(p.unit, text...)
	p.ends = append(p.ends, int64(len(p.unit)))
}

func (p *patched) Size() int64 { return p.size }

func (p *patched) ReadAt(b []byte, off int64) (int, error) {
	n := 0
	for n < len(b) && off+int64(n) < p.size {
		n += p.piece(b[n:min(int64(len(b)), p.size-off)], off+int64(n))
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// piece copies what one repetition holds.
func (p *patched) piece(b []byte, off int64) int {
	if off < int64(len(p.head)) {
		return copy(b, p.head[off:])
	}
	off -= int64(len(p.head))
	rep, at := off/int64(len(p.unit)), int(off%int64(len(p.unit)))
	n := copy(b, p.unit[at:])
	if rep == 0 {
		return n
	}
	var digits [20]byte
	for i := sort.Search(len(p.fields), func(i int) bool { return p.fields[i].at+p.fields[i].width > at }); i < len(p.fields) && p.fields[i].at < at+n; i++ {
		f := &p.fields[i]
		text := strconv.AppendInt(digits[:0], f.value+rep*f.add, 10)
		if len(text) != f.width {
			panic("a patched number outgrew its width")
		}
		from := max(f.at, at)
		copy(b[from-at:n], text[from-f.at:])
	}
	return n
}

func (p *patched) bytes(t testing.TB, n int64) []byte {
	t.Helper()
	data := make([]byte, n)
	if _, err := p.ReadAt(data, 0); err != nil {
		t.Fatal(err)
	}
	return data
}

// day gives the index of the whole stream, made from that of the first repetition instead of reading 44 GB; a test compares both ways.
func (p *patched) day(t testing.TB, repetitions int64) *Index {
	t.Helper()
	b := NewBuilder()
	unitEnd := int64(len(p.head)) + int64(len(p.unit))
	if err := b.Extend(t.Context(), p, 2*unitEnd-int64(len(p.head)), nil); err != nil {
		t.Fatal(err)
	}
	perUnit := len(b.blocks) / 2
	unit := b.blocks[perUnit:] // of the second repetition: its first block continues one
	var rollups []*store.Rollup
	for i := range unit {
		r, err := b.levels[0].rollup(perUnit + i)
		if err != nil {
			t.Fatal(err)
		}
		rollups = append(rollups, r)
	}
	for rep := int64(2); rep < repetitions; rep++ {
		for i := range unit {
			blk := unit[i]
			by := rep - 1
			shift := by * p.spanNS
			blk.Offset += by * int64(len(p.unit))
			blk.End += by * int64(len(p.unit))
			blk.FirstLine += by * p.steps
			blk.MinStep, blk.MaxStep = blk.MinStep+by*p.steps, blk.MaxStep+by*p.steps
			blk.FirstNS, blk.LastNS = blk.FirstNS+shift, blk.LastNS+shift
			blk.Before.LastStep += by * p.steps
			blk.Before.LastSubmitNS += shift
			blk.Before.LastCompleteNS += shift
			r := *rollups[i]
			shiftRollup(&r, shift, by*p.steps)
			b.levels.add(0, int32(len(b.blocks)), &r)
			b.blocks = append(b.blocks, blk)
		}
	}
	st := b.sealed.clone()
	st.Lines = 1 + repetitions*p.steps
	e := &st.Engines[0]
	by := repetitions - 2
	e.Sequence.LastStep += by * p.steps
	e.Sequence.LastSubmitNS += by * p.spanNS
	e.Sequence.LastCompleteNS += by * p.spanNS
	b.sealed, b.state = st, st.clone()
	b.end = b.sealedEnd()
	return b.Index()
}

func shiftRollup(r *store.Rollup, ns, steps int64) {
	for _, n := range []*int64{&r.StartNS, &r.EndNS, &r.Counts.FirstNS, &r.Counts.LastNS} {
		*n += ns
	}
	for _, n := range []*int64{&r.Counts.LastPreemptionNS, &r.Counts.KVUsageMaxNS} {
		if *n != 0 {
			*n += ns
		}
	}
	r.FirstStep, r.LastStep = r.FirstStep+steps, r.LastStep+steps
}

// indexed builds the index of data in one go.
func indexed(t testing.TB, data []byte) *Index {
	t.Helper()
	b := NewBuilder()
	if err := b.Extend(t.Context(), bytes.NewReader(data), int64(len(data)), nil); err != nil {
		t.Fatal(err)
	}
	return b.Index()
}

// sameIndex compares all that two indexes tell.
func sameIndex(t testing.TB, got, want *Index) {
	t.Helper()
	if got.Size() != want.Size() || got.Lines() != want.Lines() || !slices.Equal(got.blocks, want.blocks) {
		t.Fatalf("%d blocks, %d lines, %d bytes, want %d, %d, %d", len(got.blocks), got.Lines(), got.Size(), len(want.blocks), want.Lines(), want.Size())
	}
	if len(got.Engines())+len(want.Engines()) > 0 && !reflect.DeepEqual(got.Engines(), want.Engines()) {
		t.Fatalf("engines\n%+v\nwant\n%+v", got.Engines(), want.Engines())
	}
	for k := range Levels {
		if !slices.Equal(got.levels[k].groups, want.levels[k].groups) {
			t.Fatalf("level %d: groups %v, want %v", k, got.levels[k].groups, want.levels[k].groups)
		}
		for i := range want.levels[k].groups {
			a, err := got.levels[k].encoded(i)
			if err != nil {
				t.Fatal(err)
			}
			if b, _ := want.levels[k].encoded(i); !bytes.Equal(a, b) {
				t.Fatalf("level %d: rollup %d differs", k, i)
			}
		}
	}
}
