package frames

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"opprof/testdata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func recording(t testing.TB, name string) []byte {
	t.Helper()
	data, err := testdata.Recording(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

type tester interface {
	Helper()
	Fatal(...any)
}

// pack writes data in pieces of some size.
func pack(t tester, data []byte, piece, workers int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, workers)
	if err != nil {
		t.Fatal(err)
	}
	for len(data) > 0 && err == nil {
		n := min(piece, len(data))
		_, err = w.Write(data[:n])
		data = data[n:]
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func unpack(t tester, packed []byte) *Reader {
	t.Helper()
	r, err := NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// several is a stream of a few frames.
func several(t testing.TB) []byte {
	one := recording(t, "h200-tp1")
	return one[:len(one):len(one)]
}

func TestFramesEndAtLineEndsAndFillTheStream(t *testing.T) {
	data := several(t)
	for _, c := range []struct{ piece, workers int }{{len(data), 1}, {1 << 16, 2}, {777_777, 8}} {
		r := unpack(t, pack(t, data, c.piece, c.workers))
		var end int64
		for i, s := range r.table.frames {
			if s.offset != end {
				t.Fatalf("frame %d begins at byte %d, want %d", i, s.offset, end)
			}
			end += int64(s.bytes)
			last := i == len(r.table.frames)-1
			if data[end-1] != '\n' || !last && (s.bytes < FrameBytes || s.bytes > FrameBytes+64<<10) {
				t.Errorf("%+v: frame %d of %d bytes ends with %q", c, i, s.bytes, data[end-1])
			}
		}
		if end != int64(len(data)) || len(r.table.frames) < 4 {
			t.Errorf("%+v: %d frames hold %d bytes of %d", c, len(r.table.frames), end, len(data))
		}
		r.Close()
	}
}

func TestAnyByteReads(t *testing.T) {
	data := several(t)
	r := unpack(t, pack(t, data, 1<<18, 2))
	defer r.Close()
	rapid.Check(t, func(t *rapid.T) {
		off := rapid.IntRange(0, len(data)).Draw(t, "offset")
		n := rapid.IntRange(0, FrameBytes+5000).Draw(t, "bytes")
		p := make([]byte, n)
		got, err := r.ReadAt(p, int64(off))
		want := data[off:min(len(data), off+n)]
		if !bytes.Equal(p[:got], want) || (err == io.EOF) != (len(want) < n) || err != nil && err != io.EOF {
			t.Fatalf("%d bytes at %d: %d, %v", n, off, got, err)
		}
	})
}

// Any text comes back, also without line ends, and every zstd decoder reads it.
func TestRoundTrip(t *testing.T) {
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		data := make([]byte, rapid.SampledFrom([]int{0, 1, 5000, FrameBytes, 2*FrameBytes + 17}).Draw(t, "size"))
		every := rapid.SampledFrom([]int{0, 1, 900, 2 << 20}).Draw(t, "line")
		random := rand.New(rand.NewPCG(seed, 1))
		for at := 0; at < len(data); at += 4096 {
			data[at] = "abcdefgh"[random.IntN(8)]
			copy(data[at+1:min(at+4096, len(data))], "text")
			if every > 0 && random.IntN(every/900+1) == 0 {
				data[at+random.IntN(min(4096, len(data)-at))] = '\n'
			}
		}
		packed := pack(t, data, rapid.IntRange(1000, 4<<20).Draw(t, "piece"), rapid.IntRange(1, 4).Draw(t, "workers"))
		r := unpack(t, packed)
		defer r.Close()
		if err := iotest.TestReader(io.NewSectionReader(r, 0, min(r.Size(), 1<<16)), data[:min(len(data), 1<<16)]); err != nil {
			t.Fatal(err)
		}
		back, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
		if err != nil || !bytes.Equal(back, data) {
			t.Fatalf("%d bytes of %d come back, %v", len(back), len(data), err)
		}
		if back, err = d.DecodeAll(packed, nil); err != nil || !bytes.Equal(back, data) {
			t.Fatalf("a plain decoder reads %d bytes of %d, %v", len(back), len(data), err)
		}
	})
}

func TestLineLongerThanAFrame(t *testing.T) {
	data := append(bytes.Repeat([]byte("x"), frameMax+5), '\n')
	r := unpack(t, pack(t, data, 1<<20, 2))
	defer r.Close()
	if n := len(r.table.frames); n < 2 || r.Size() != int64(len(data)) {
		t.Errorf("%d frames, %d bytes", n, r.Size())
	}
}

type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

var errFull = errors.New("full")

func TestAFullDiskIsToldAndNothingIsClaimed(t *testing.T) {
	data := several(t)
	size := len(pack(t, data, 1<<20, 2))
	for _, left := range []int{0, size / 2, size - 1} {
		w, err := NewWriter(&failing{left}, 2)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Write(data)
		if err := errors.Join(err, w.Close()); !errors.Is(err, errFull) {
			t.Errorf("room for %d bytes of %d: %v", left, size, err)
		}
	}
}

func TestWhatIsNotSeekable(t *testing.T) {
	data := several(t)
	packed := pack(t, data, 1<<20, 2)
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(b []byte) []byte) []byte { return change(bytes.Clone(packed)) }
	for name, file := range map[string][]byte{
		"nothing":                   nil,
		"one foreign frame":         e.EncodeAll(data, nil),
		"a cut file":                packed[:len(packed)-1],
		"a file that goes on":       append(bytes.Clone(packed), packed...)[:len(packed)+30],
		"a table of other frames":   append([]byte{0}, packed...),
		"more frames than bytes":    with(func(b []byte) []byte { order.PutUint32(b[len(b)-9:], 1<<30); return b }),
		"fewer frames than it has":  with(func(b []byte) []byte { order.PutUint32(b[len(b)-9:], 1); return b }),
		"a descriptor of later":     with(func(b []byte) []byte { b[len(b)-5] = 0x40; return b }),
		"a frame of 4 GB":           with(func(b []byte) []byte { order.PutUint32(b[len(b)-13:], 1<<32-1); return b }),
		"a frame behind the others": with(func(b []byte) []byte { order.PutUint32(b[len(b)-17:], 1<<20); return b }),
	} {
		if r, err := NewReader(bytes.NewReader(file), int64(len(file))); !errors.Is(err, ErrNotSeekable) {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
}

// A table with checksums, which others write, is read as well.
func TestTableWithChecksums(t *testing.T) {
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := e.EncodeAll([]byte("one\ntwo\n"), nil)
	file := order.AppendUint32(bytes.Clone(frame), skippableMagic)
	file = order.AppendUint32(file, 12+footerBytes)
	file = order.AppendUint32(file, uint32(len(frame)))
	file = order.AppendUint32(file, 8)
	file = append(file, 1, 2, 3, 4)
	file = order.AppendUint32(file, 1)
	file = append(file, checksumFlag)
	file = order.AppendUint32(file, seekableMagic)
	r := unpack(t, file)
	defer r.Close()
	p := make([]byte, 3)
	if n, err := r.ReadAt(p, 4); n != 3 || err != nil || string(p) != "two" || r.Packed(8) != int64(len(frame)) {
		t.Errorf("%q, %v, %d", p[:n], err, r.Packed(8))
	}
}

func TestDamageIsLocatedAndTheOtherFramesRead(t *testing.T) {
	data := several(t)
	packed := pack(t, data, 1<<20, 2)
	r := unpack(t, packed)
	defer r.Close()
	s := r.table.frames[1]
	packed[s.at+int64(s.packed)/2] ^= 0xff
	p := make([]byte, 100)
	var damage *DamageError
	if _, err := r.ReadAt(p, s.offset+5); !errors.As(err, &damage) || damage.Frame != 1 || damage.At != s.at {
		t.Errorf("%v", err)
	}
	for _, at := range []int64{s.offset - 100, s.offset + int64(s.bytes)} {
		if n, err := r.ReadAt(p, at); n != 100 || err != nil || !bytes.Equal(p, data[at:at+100]) {
			t.Errorf("at %d: %d, %v", at, n, err)
		}
	}
	broken := errors.New("broken disk")
	other := &Reader{r: failingAt{broken}, table: r.table, decoder: r.decoder}
	if _, err := other.ReadAt(p, 0); !errors.Is(err, broken) || errors.As(err, &damage) && damage.Err == broken {
		t.Errorf("a broken disk is told as %v", err)
	}
}

type failingAt struct{ err error }

func (f failingAt) ReadAt([]byte, int64) (int, error) { return 0, f.err }

func TestOpenGoesByContent(t *testing.T) {
	data := recording(t, "h200-tp2-eager")
	dir := t.TempDir()
	put := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		path   string
		packed bool
	}{{put("a.jsonl", data), false}, {put("b.jsonl.zst", pack(t, data, 1<<20, 1)), true}, {put("c.jsonl", pack(t, data, 1<<20, 1)), true}} {
		f, err := Open(c.path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
		if !bytes.Equal(got, data) || err != nil || f.Packed() != c.packed {
			t.Errorf("%s: %d bytes of %d, packed %v, %v", c.path, len(got), len(data), f.Packed(), err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	var z bytes.Buffer
	g := gzip.NewWriter(&z)
	_, err := g.Write(data)
	if err := errors.Join(err, g.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(put("d.jsonl.gz", z.Bytes())); !errors.Is(err, ErrNotSeekable) {
		t.Errorf("gzip: %v", err)
	}
	if f, err := Open(put("e.jsonl", nil)); err != nil || f.Size() != 0 {
		t.Errorf("an empty file: %v", err)
	} else if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzReader(f *testing.F) {
	var out bytes.Buffer
	w, err := NewWriter(&out, 1)
	if err != nil {
		f.Fatal(err)
	}
	_, err = w.Write([]byte("one line\nand another\n"))
	if err := errors.Join(err, w.Close()); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes(), int64(3))
	f.Add(appendTable(nil, nil), int64(0))
	f.Add([]byte{}, int64(0))
	f.Fuzz(func(t *testing.T, file []byte, off int64) {
		r, err := NewReader(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		defer r.Close()
		p := make([]byte, 1000)
		n, err := r.ReadAt(p, off)
		if n < 0 || n > len(p) || n < len(p) && err == nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		if packed := r.Packed(off); packed < 0 || packed > int64(len(file)) {
			t.Errorf("%d bytes of %d", packed, len(file))
		}
	})
}

// BenchmarkFrames compares reading frames, in order and at random, with decompressing one frame of the same bytes.
func BenchmarkFrames(b *testing.B) {
	data := bytes.Repeat(recording(b, "h200-tp1"), 8)
	packed := pack(b, data, 1<<20, 2)
	b.Logf("%d bytes in %d: %.1f to 1", len(data), len(packed), float64(len(data))/float64(len(packed)))
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			pack(b, data, 1<<20, 2)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		buf := make([]byte, 256<<10)
		for b.Loop() {
			r := unpack(b, packed)
			for at := int64(0); at < r.Size(); at += int64(len(buf)) {
				if _, err := r.ReadAt(buf, at); err != nil && err != io.EOF {
					b.Fatal(err)
				}
			}
			r.Close()
		}
	})
	b.Run("jump", func(b *testing.B) {
		r, buf := unpack(b, packed), make([]byte, 16<<10)
		defer r.Close()
		for i := int64(0); b.Loop(); i++ {
			if _, err := r.ReadAt(buf, (i*7919<<16)%(r.Size()-int64(len(buf)))); err != nil {
				b.Fatal(err)
			}
		}
	})
}
