package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// saved builds and saves the index of a recording.
func saved(t testing.TB, data []byte) (path string, x *Index) {
	t.Helper()
	x = indexed(t, data)
	path = filepath.Join(t.TempDir(), "s.jsonl"+Extension)
	if err := x.Save(path, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	return path, x
}

func TestSaveAndLoad(t *testing.T) {
	for _, name := range recordings {
		data := recording(t, name)
		path, _ := saved(t, data)
		x, err := Load(path, bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		if x.Size()%BlockSteps == 0 && x.Size() > 0 || x.full != len(x.blocks) {
			t.Errorf("%s: an open block was saved", name)
		}
		sameIndex(t, x, sealedOnly(t, data))
		st, err := os.Stat(path)
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", st.Mode(), err)
		}
	}
}

// sealedOnly is the index of the full blocks.
func sealedOnly(t testing.TB, data []byte) *Index {
	x := indexed(t, data)
	end := int64(0)
	if x.full > 0 {
		end = x.blocks[x.full-1].End
	}
	return indexed(t, data[:end])
}

func TestATornIndexIsNeverBelieved(t *testing.T) {
	data := recording(t, "h200-tp1-literal")
	path, _ := saved(t, data)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	believed := func(index []byte) bool {
		_, err := verify(bytes.NewReader(index), int64(len(index)), bytes.NewReader(data), int64(len(data)))
		return err == nil
	}
	if !believed(whole) {
		t.Fatal("the whole index is not believed")
	}
	for at := range whole {
		if believed(whole[:at]) {
			t.Errorf("cut at byte %d: believed", at)
		}
		whole[at] ^= 0x20
		if believed(whole) {
			t.Errorf("byte %d changed: believed", at)
		}
		whole[at] ^= 0x20
	}
	if believed(append(whole, 0)) {
		t.Error("one byte more: believed")
	}
}

func TestForeignIndexes(t *testing.T) {
	data := recording(t, "h200-tp1")
	path, x := saved(t, data)
	first, last := x.blocks[0], x.blocks[x.full-1]
	change := func(at int64) []byte {
		other := bytes.Clone(data)
		other[at] ^= 1
		return other
	}
	for _, c := range []struct {
		name, why string
		stream    []byte
	}{
		{"of a longer stream", "was cut", data[:last.End-1]},
		{"of an empty stream", "was cut", nil},
		{"of another stream", "other bytes", append(recording(t, "h200-tp2"), data...)},
		{"first block changed", "other bytes", change(first.End - 1)},
		{"last block changed", "other bytes", change(last.Offset)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(path, bytes.NewReader(c.stream), int64(len(c.stream)))
			if !errors.Is(err, ErrStale) || !strings.Contains(err.Error(), c.why) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %q", err, c.why)
			}
		})
	}
	grown := append(bytes.Clone(data), "more\n"...)
	if x, err := Load(path, bytes.NewReader(grown), int64(len(grown))); err != nil {
		t.Errorf("of a stream that has grown: %v", err)
	} else {
		x.Close()
	}
	if _, err := Load(path+"x", bytes.NewReader(data), int64(len(data))); !errors.Is(err, ErrNone) {
		t.Errorf("none: %v", err)
	}
	if _, err := Load(t.TempDir(), bytes.NewReader(data), int64(len(data))); !errors.Is(err, ErrStale) {
		t.Errorf("a folder: %v", err)
	}
}

func TestAChangedMiddleIsNoticedWhenItIsRead(t *testing.T) {
	data := recording(t, "h200-tp1")
	path, x := saved(t, data)
	b := x.blocks[2]
	other := bytes.Clone(data)
	copy(other[b.Offset+10:], "\nbad\n")
	loaded, err := Load(path, bytes.NewReader(other), int64(len(other)))
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	_, err = loaded.StepsAround(t.Context(), bytes.NewReader(other), x.Engines()[0].ID, b.FirstNS, 1)
	if !errors.Is(err, ErrStale) {
		t.Errorf("got %v", err)
	}
}

// repaired sets the checksums that the header holds, so that a fuzzer gets behind them.
func repaired(index []byte) []byte {
	out := bytes.Clone(index)
	var h fileHeader
	if len(out) < headerSize {
		return out
	}
	if _, err := binary.Decode(out, order, &h); err != nil {
		return out
	}
	copy(h.Magic[:], formatMagic)
	h.Version, h.Length = formatVersion, uint64(len(out))
	for _, s := range []*section{&h.State, &h.Directory, &h.Frames} {
		if s.Offset <= uint64(len(out)) && s.Length <= uint64(len(out))-s.Offset {
			s.CRC = crc32.Checksum(out[s.Offset:s.Offset+s.Length], castagnoli)
		}
	}
	h.CRC = 0
	copy(out, h.encode())
	order.PutUint32(out[headerCRCAt:], checksum(out[:headerSize]))
	return out
}

// FuzzParse reads any bytes as an index; a checksum that holds must not be needed for safety.
func FuzzParse(f *testing.F) {
	data := recording(f, "h200-tp1-experts")
	path, _ := saved(f, data)
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, true)
	f.Add(whole[:headerSize], true)
	f.Add([]byte(formatMagic), false)
	f.Fuzz(func(t *testing.T, index []byte, repair bool) {
		if repair {
			index = repaired(index)
		}
		x, _, err := parse(bytes.NewReader(index), int64(len(index)))
		if err != nil {
			return
		}
		for _, e := range append(x.Engines(), Engine{}) {
			for limit := 1; limit <= 1<<12; limit <<= 6 {
				_, _ = x.Rollups(e.ID, math.MinInt64, math.MaxInt64, limit)
			}
			_, _ = x.StepsAround(t.Context(), bytes.NewReader(data), e.ID, 0, 1)
		}
		if b, err := Resume(x); err == nil {
			_ = b.Extend(t.Context(), bytes.NewReader(data), int64(len(data)), nil)
			_ = b.Index()
		}
	})
}
