package index

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

type counting struct {
	io.ReaderAt
	mu    sync.Mutex
	bytes int64
	calls int64
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.mu.Lock()
	c.bytes += int64(n)
	c.calls++
	c.mu.Unlock()
	return n, err
}

// keeping is a stream file that is as large as size says.
type keeping struct {
	Keeping
	data    []byte
	mu      sync.Mutex
	size    int64
	updates []*Index
	notes   []string
}

func newKeeping(t *testing.T, dir string, data []byte, size int64) *keeping {
	k := &keeping{data: data, size: size}
	k.Keeping = Keeping{
		Stream: filepath.Join(dir, "s.jsonl"), Reader: k,
		Size:   func() (int64, error) { k.mu.Lock(); defer k.mu.Unlock(); return k.size, nil },
		Update: func(x *Index) { k.updates = append(k.updates, x) },
		Note:   func(n string) { k.notes = append(k.notes, n) },
	}
	t.Cleanup(func() {
		for _, x := range k.updates {
			x.Close()
		}
	})
	return k
}

func (k *keeping) ReadAt(p []byte, off int64) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return bytes.NewReader(k.data[:k.size]).ReadAt(p, off)
}

func (k *keeping) last() *Index { return k.updates[len(k.updates)-1] }

// large is a stream that is worth an index file.
func large(t testing.TB) []byte {
	p := newPatched(t, "h200-tp1", 4*BlockSteps, 1<<40)
	return p.bytes(t, int64(len(p.head)+6*len(p.unit))+500)
}

func TestKeepBuildsSavesAndGoesOn(t *testing.T) {
	data := large(t)
	dir := t.TempDir()
	half := int64(len(data)) * 4 / 5
	first := newKeeping(t, dir, data, half)
	if err := Keep(t.Context(), first.Keeping); err != nil {
		t.Fatal(err)
	}
	sameIndex(t, first.last(), indexed(t, data[:half]))
	if len(first.notes) > 0 {
		t.Errorf("notes %q", first.notes)
	}
	if names := list(t, dir); names != "s.jsonl.opidx" {
		t.Errorf("files %s", names)
	}
	second := newKeeping(t, dir, data, int64(len(data)))
	read := &counting{ReaderAt: second}
	second.Reader = read
	if err := Keep(t.Context(), second.Keeping); err != nil {
		t.Fatal(err)
	}
	if second.updates[0].Size() == 0 || read.bytes > int64(len(data))/2 {
		t.Errorf("the saved index was not used: first update covers %d, %d bytes read", second.updates[0].Size(), read.bytes)
	}
	sameIndex(t, second.last(), indexed(t, data))
}

func list(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestKeepFollowsAGrowingStream(t *testing.T) {
	data := large(t)
	k := newKeeping(t, t.TempDir(), data, 100)
	ticks := make(chan time.Time)
	k.Ticks = ticks
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- Keep(ctx, k.Keeping) }()
	resize := func(size int64) {
		k.mu.Lock()
		k.size = size
		k.mu.Unlock()
		ticks <- time.Time{} // the pass before is over, one with this size begins
		ticks <- time.Time{} // and is over too
	}
	resize(3 << 20)
	resize(int64(len(data)))
	resize(1 << 20) // cut
	resize(int64(len(data)))
	ticks <- time.Time{}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	sameIndex(t, k.last(), indexed(t, data))
	if len(k.notes) != 1 || !strings.Contains(k.notes[0], "was cut to 1048576 bytes") {
		t.Errorf("notes %q", k.notes)
	}
	if _, err := os.Stat(k.Stream + Extension); err != nil {
		t.Errorf("not saved at the end: %v", err)
	}
}

func TestTwoBuildersAtOnce(t *testing.T) {
	data := large(t)
	dir := t.TempDir()
	w, err := newWriter(Paths(filepath.Join(dir, "s.jsonl"), ""))
	if err != nil {
		t.Fatal(err)
	}
	k := newKeeping(t, dir, data, int64(len(data)))
	if err := Keep(t.Context(), k.Keeping); err != nil {
		t.Fatal(err)
	}
	sameIndex(t, k.last(), indexed(t, data))
	if len(k.notes) != 1 || !strings.Contains(k.notes[0], ErrBusy.Error()) || list(t, dir) != "s.jsonl.opidx.lock" {
		t.Errorf("notes %q, files %s", k.notes, list(t, dir))
	}
	w.release()

	var both sync.WaitGroup
	keepers := []*keeping{newKeeping(t, dir, data, int64(len(data))), newKeeping(t, dir, data, int64(len(data)))}
	for _, k := range keepers {
		both.Go(func() {
			if err := Keep(context.Background(), k.Keeping); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	for _, k := range keepers {
		sameIndex(t, k.last(), indexed(t, data))
	}
	if list(t, dir) != "s.jsonl.opidx" {
		t.Errorf("files %s", list(t, dir))
	}
}

// A named pipe that took the index's name is not waited for; the index takes its place.
func TestAPipeIsNoIndex(t *testing.T) {
	data := large(t)
	k := newKeeping(t, t.TempDir(), data, int64(len(data)))
	if err := syscall.Mkfifo(k.Stream+Extension, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Keep(t.Context(), k.Keeping); err != nil {
		t.Fatal(err)
	}
	if len(k.notes) != 1 || !strings.Contains(k.notes[0], "a named pipe") {
		t.Errorf("notes %q", k.notes)
	}
	x, err := Load(k.Stream+Extension, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	x.Close()
}

func TestABadIndexIsBuiltAgain(t *testing.T) {
	data := large(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.jsonl.opidx"), []byte("not an index"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := newKeeping(t, dir, data, int64(len(data)))
	if err := Keep(t.Context(), k.Keeping); err != nil {
		t.Fatal(err)
	}
	if len(k.notes) != 1 || !strings.Contains(k.notes[0], "it is built again") {
		t.Errorf("notes %q", k.notes)
	}
	x, err := Load(k.Stream+Extension, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	x.Close()
}

// One flipped bit anywhere, among the rollups too, costs a new build and a note; the new file is whole.
func TestADamagedIndexHeals(t *testing.T) {
	data := large(t)
	dir := t.TempDir()
	first := newKeeping(t, dir, data, int64(len(data)))
	if err := Keep(t.Context(), first.Keeping); err != nil {
		t.Fatal(err)
	}
	path := first.Stream + Extension
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{9, headerSize + 5, len(whole) / 2, len(whole) - 3} {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 4
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		k := newKeeping(t, dir, data, int64(len(data)))
		if err := Keep(t.Context(), k.Keeping); err != nil {
			t.Fatal(err)
		}
		if len(k.notes) != 1 || !strings.Contains(k.notes[0], "it is built again") {
			t.Errorf("byte %d: notes %q", at, k.notes)
		}
		sameIndex(t, k.last(), first.last())
		if healed, err := os.ReadFile(path); err != nil || !bytes.Equal(healed, whole) {
			t.Errorf("byte %d: the file is not whole again: %v", at, err)
		}
	}
}

func TestAnUnwritableFolderUsesTheCache(t *testing.T) {
	data := large(t)
	dir := t.TempDir()
	k := newKeeping(t, dir, data, int64(len(data)))
	k.Stream = filepath.Join(dir, "gone", "s.jsonl") // nothing can be created beside it
	k.CacheDir = filepath.Join(dir, "cache", "index")
	for range 2 {
		if err := Keep(t.Context(), k.Keeping); err != nil {
			t.Fatal(err)
		}
	}
	if len(k.notes) > 0 || !strings.HasSuffix(list(t, k.CacheDir), "-s.jsonl.opidx") {
		t.Errorf("notes %q, files %s", k.notes, list(t, k.CacheDir))
	}
	k.CacheDir = filepath.Join(os.DevNull, "cache")
	if err := Keep(t.Context(), k.Keeping); err != nil {
		t.Fatal(err)
	}
	if len(k.notes) != 1 || !strings.Contains(k.notes[0], "cannot write an index") || strings.Contains(k.notes[0], "\n") {
		t.Errorf("notes %q", k.notes)
	}
}

func TestSmallStreamsGetNoFile(t *testing.T) {
	data := recording(t, "h200-tp1")
	dir := t.TempDir()
	k := newKeeping(t, dir, data, int64(len(data)))
	if err := Keep(t.Context(), k.Keeping); err != nil {
		t.Fatal(err)
	}
	if list(t, dir) != "" || k.last().Steps() != 6018 {
		t.Errorf("files %s, %d steps", list(t, dir), k.last().Steps())
	}
}
