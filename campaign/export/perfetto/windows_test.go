package perfetto

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"opprof/campaign/export/feed"
	"opprof/campaign/export/windows"
	"opprof/traces/family"
)

// windowsOf reads the first window with traces of a recording.
func windowsOf(t testing.TB, name, pattern, stream string) []windows.Window {
	t.Helper()
	packed, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "traces", name, pattern))
	if err != nil || len(packed) == 0 {
		t.Fatal("no traces", err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	rules, err := family.Default()
	if err != nil {
		t.Fatal(err)
	}
	in := windows.Source{Streams: []string{stream}, Rules: rules}
	dir := t.TempDir()
	for _, path := range packed {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if data, err = z.DecodeAll(data, nil); err != nil {
			t.Fatal(err)
		}
		in.Traces = append(in.Traces, filepath.Join(dir, strings.TrimSuffix(filepath.Base(path), ".zst")))
		if err := os.WriteFile(in.Traces[len(in.Traces)-1], data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := windows.NewMarkers()
	if _, err := open(t, stream).Each(context.Background(), func(it *feed.Item) error { m.Add(it.Stream, it.Line); return nil }, nil); err != nil {
		t.Fatal(err)
	}
	all, err := windows.List(context.Background(), in, m, func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if all[i].Detail != nil {
			return all[i : i+1]
		}
	}
	t.Fatal("no window has traces")
	return nil
}
