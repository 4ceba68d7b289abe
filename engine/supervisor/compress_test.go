package supervisor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opprof/engine/control"
	"opprof/engine/supervisor/fakeserver"
)

// TestCompressVerified: what a run that has ended left plain is compressed once, also when somebody was killed before the summary was written.
func TestCompressVerified(t *testing.T) {
	r := launch(t, newConfig(t, fakeserver.Options{}, 1))
	r.state(control.Ready)
	if w := r.arm(control.Trigger{Kind: control.TriggerNow}, 1); w.State != control.WindowVerified {
		t.Fatalf("%+v", w)
	}
	r.end()
	dir := r.config.Dir
	text := expand(t, r.config)
	before, err := PlainTraces(dir)
	if err != nil || len(before) != 1 || !strings.HasSuffix(before[0], ".json") {
		t.Fatalf("plain %q, %v", before, err)
	}
	for range 2 {
		if err := CompressVerified(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		plain, compressed := ofTraces(t, r.config)
		if len(plain) != 0 || len(compressed) != 1 {
			t.Fatalf("plain %v, compressed %v", plain, compressed)
		}
		assertInflates(t, compressed[0], text)
	}
	s, err := readSummary(dir, 1)
	if err != nil || s.Ranks[0].File != strings.TrimPrefix(before[0], dir+string(filepath.Separator))+".gz" {
		t.Errorf("summary %+v, %v", s.Ranks, err)
	}
	s.Ranks[0].File = strings.TrimSuffix(s.Ranks[0].File, ".gz")
	if err := writeSummary(dir, s); err != nil {
		t.Fatal(err)
	}
	if left, err := PlainTraces(dir); err != nil || len(left) != 0 || s.paths(dir)[0] != before[0]+".gz" {
		t.Errorf("left %q, %v", left, err)
	}
	if err := os.Remove(filepath.Join(dir, "windows/1/summary.json")); err != nil {
		t.Fatal(err)
	}
	if err := CompressVerified(t.Context(), dir); err == nil {
		t.Error("a window without a summary is not told of")
	}
	if _, err := PlainTraces(t.TempDir()); err == nil {
		t.Error("a folder without a journal has verified windows")
	}
}
