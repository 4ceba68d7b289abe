package supervisor

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
	if _, err := PlainTraces(t.TempDir()); err == nil {
		t.Error("a folder without a journal has verified windows")
	}
}

// TestACopyIsThereAlready: a compressor that was killed before it removed the plain file is taken up; a file of somebody else stays.
func TestACopyIsThereAlready(t *testing.T) {
	packed := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for _, c := range []struct {
		name  string
		copy  []byte
		taken bool
	}{{"whole", packed("a trace"), true}, {"of another trace", packed("another"), false}, {"cut", packed("a trace")[:20], false}, {"foreign", []byte("text"), false}} {
		path := filepath.Join(t.TempDir(), "a.trace.json")
		for _, err := range []error{os.WriteFile(path, []byte("a trace"), 0o600), os.WriteFile(path+".gz", c.copy, 0o600)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		out, err := CompressTraces(t.Context(), []string{path})
		_, plain := os.Stat(path)
		if taken := err == nil && out[0] == path+".gz" && errors.Is(plain, fs.ErrNotExist); taken != c.taken || err != nil && plain != nil {
			t.Errorf("%s: %v, %v; the plain file: %v", c.name, out, err, plain)
		}
		if now, err := os.ReadFile(path + ".gz"); err != nil || !bytes.Equal(now, c.copy) {
			t.Errorf("%s: the copy was changed: %v", c.name, err)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*.tmp")); len(left) > 0 {
			t.Errorf("%s: left %v", c.name, left)
		}
	}
}

// TestTwoCompressOneTrace: what a killed supervisor started may still be at work when the next one begins. Both end with the copy.
func TestTwoCompressOneTrace(t *testing.T) {
	for range 50 {
		path := writeTraces(t, "rank0.1.pt.trace.json")[0]
		ended := make(chan error, 2)
		for range cap(ended) {
			go func() {
				out, err := CompressTraces(t.Context(), []string{path})
				if out[0] != path+".gz" {
					err = errors.Join(err, fmt.Errorf("it is at %s", out[0]))
				}
				ended <- err
			}()
		}
		if err := errors.Join(<-ended, <-ended); err != nil {
			t.Fatal(err)
		}
		assertInflates(t, path+".gz", "a trace")
	}
}

// TestACopyHasTheTimeOfItsTrace: which window a trace is of is told by when it was written.
func TestACopyHasTheTimeOfItsTrace(t *testing.T) {
	path := writeTraces(t, "rank0.1.pt.trace.json")[0]
	at := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	if _, err := CompressTraces(t.Context(), []string{path}); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path + ".gz"); err != nil || !st.ModTime().Equal(at) {
		t.Errorf("%v, %v", st, err)
	}
}

// TestAWindowWithoutASummary: it is told of, and the traces of those behind it are compressed.
func TestAWindowWithoutASummary(t *testing.T) {
	r := launch(t, newConfig(t, fakeserver.Options{}, 1))
	r.state(control.Ready)
	if w := r.arm(control.Trigger{Kind: control.TriggerNow}, 2); w.State != control.WindowVerified {
		t.Fatalf("%+v", w)
	}
	r.end()
	dir := r.config.Dir
	if err := os.Remove(filepath.Join(dir, "windows/1/summary.json")); err != nil {
		t.Fatal(err)
	}
	s, err := readSummary(dir, 2)
	if err != nil {
		t.Fatal(err)
	}
	s.Ranks[0].File = "kineto/rank0.1.pt.trace.json"
	path := filepath.Join(dir, s.Ranks[0].File)
	if err := errors.Join(writeSummary(dir, s), os.WriteFile(path, []byte("a trace"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if plain, err := PlainTraces(dir); err == nil || !strings.Contains(err.Error(), "windows/1/summary.json") || !slices.Equal(plain, []string{path}) {
		t.Errorf("plain %q, %v", plain, err)
	}
	if err := CompressVerified(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "windows/1/summary.json") {
		t.Errorf("%v", err)
	}
	assertInflates(t, path+".gz", "a trace")
}
