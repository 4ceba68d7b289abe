package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"opprof/engine/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eachLine reads a recorded stream of a real server.
func eachLine(t testing.TB, name string, f func(*record.Line)) {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "..", "testdata", "records", name+".jsonl.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := zstd.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	r := record.NewReader(z, name)
	for r.Scan() {
		f(r.Line())
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
}

// load puts whole recordings into a store, one stream each.
func load(t testing.TB, names ...string) *Store {
	t.Helper()
	s := New(Options{})
	for i, name := range names {
		s.Name(i, name)
		eachLine(t, name, func(l *record.Line) { s.Line(i, l) })
	}
	return s
}
