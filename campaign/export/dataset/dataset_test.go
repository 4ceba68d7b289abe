package dataset

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPartitions(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{"h200-tp1", "run=h200-tp1"},
		{"", "run=-"},
		{"-", "run=%2D"},
		{"..", "run=.."},
		{"a/b", "run=a%2Fb"},
		{"../../etc", "run=..%2F..%2Fetc"},
		{"x=1", "run=x%3D1"},
		{"50%", "run=50%25"},
		{"a\x00b\n", "run=a%00b%0A"},
		{"é", "run=%C3%A9"},
	} {
		if got := partition("run", c.value); got != c.want {
			t.Errorf("partition of %q is %q, want %q", c.value, got, c.want)
		}
	}
}

func TestPartitionsAreSafeAndTellApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("é日%=/.x")), 60, 400, -1)), 2, 8).Draw(t, "values")
		names := map[string]string{}
		for _, v := range values {
			name := partition("run", v)
			if !filepath.IsLocal(name) || filepath.Base(name) != name || len(name) > 255 {
				t.Fatalf("%q is no name of a folder", name)
			}
			if before, ok := names[name]; ok && before != v {
				t.Fatalf("%q and %q are both %s", before, v, name)
			}
			names[name] = v
			back, err := url.PathUnescape(strings.TrimPrefix(name, "run="))
			if err != nil {
				t.Fatalf("%s cannot be read back: %v", name, err)
			}
			if len(v) < 60 && v != "" && back != v {
				t.Fatalf("%q comes back as %q", v, back)
			}
		}
	})
}

// files are the files below a folder, hidden ones left out.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			below, _ := filepath.Rel(dir, path)
			out = append(out, filepath.ToSlash(below))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func open(t *testing.T, dir string) *Dataset {
	t.Helper()
	d, err := Open(dir, "steps", "events")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// export writes one file for each engine.
func export(t *testing.T, d *Dataset, run, source, content string, engines ...string) {
	t.Helper()
	e, err := d.Begin("camp", run, source)
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range engines {
		f, err := e.Create("steps", engine)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Commit("read"); err != nil {
		t.Fatal(err)
	}
}

func TestNothingHasANameBeforeAllIsWhole(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	e, err := d.Begin("", "r", "/r")
	if err != nil {
		t.Fatal(err)
	}
	f, err := e.Create("steps", "dp0")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(0); err != nil {
		t.Fatal(err)
	}
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("before the commit there are %v", got)
	}
	e.Abort()
	if _, err := os.Stat(filepath.Join(dir, "steps")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an aborted export leaves its folders: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAnExportReplacesTheOneBefore(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	defer d.Close()
	export(t, d, "r", "/r", "old", "dp0", "dp1", "dp1")
	export(t, d, "other", "/o", "other", "dp0")
	export(t, d, "r", "/r", "new", "dp0")
	want := []string{"_exports/campaign=camp/run=other.json", "_exports/campaign=camp/run=r.json",
		"steps/campaign=camp/run=other/engine=dp0/part-00000.parquet", "steps/campaign=camp/run=r/engine=dp0/part-00000.parquet"}
	if got := files(t, dir); !slices.Equal(got, want) {
		t.Errorf("the folder holds %v, want %v", got, want)
	}
	text, err := os.ReadFile(filepath.Join(dir, want[3]))
	if err != nil || string(text) != "new" {
		t.Errorf("the file holds %q, %v", text, err)
	}
}

func TestAnExportDoesNotTakeTheNameOfAnotherRun(t *testing.T) {
	d := open(t, t.TempDir())
	defer d.Close()
	export(t, d, "r", "/here/r", "", "dp0")
	if _, err := d.Begin("camp", "r", "/there/r"); err == nil || !strings.Contains(err.Error(), "/here/r") {
		t.Errorf("another run of the same name: %v", err)
	}
	if _, err := d.Begin("", "r", "/there/r"); err != nil {
		t.Errorf("the same name outside the campaign: %v", err)
	}
}

func TestOneExportAtATime(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	if _, err := Open(dir, "steps"); !errors.Is(err, ErrBusy) {
		t.Errorf("a second export: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	next := open(t, dir)
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatAKilledExportLeftIsRemoved(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	e, err := d.Begin("", "r", "/r")
	if err != nil {
		t.Fatal(err)
	}
	f, err := e.Create("steps", "dp0")
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(dir, "steps", "notes.txt")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.out.Close(), d.Close()); err != nil { // as the kernel does for a killed process
		t.Fatal(err)
	}
	next := open(t, dir)
	defer next.Close()
	if _, err := os.Stat(filepath.Join(dir, f.temp)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its temporary file is still there: %v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("a file of somebody else was removed: %v", err)
	}
}

func TestACommitThatDiedIsFinishedByTheNext(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	defer d.Close()
	export(t, d, "r", "/r", "old", "dp0", "dp1")
	manifest := d.manifestPath("camp", "r")
	if err := os.Rename(manifest, manifest+outdated); err != nil { // the first thing a commit does
		t.Fatal(err)
	}
	export(t, d, "r", "/r", "new", "dp0")
	if got := files(t, filepath.Join(dir, "steps")); len(got) != 1 {
		t.Errorf("the folder holds %v", got)
	}
	if _, err := os.Stat(manifest + outdated); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the outdated manifest is still there: %v", err)
	}
}

func TestAManifestThatLiesRemovesNothingElse(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "mine.parquet")
	d := open(t, dir)
	defer d.Close()
	export(t, d, "r", "/r", "x", "dp0")
	inside := filepath.Join(dir, "kept.parquet")
	for _, path := range []string{outside, inside} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lie := `{"schema":1,"source":"/r","files":[{"path":"` + outside + `"},{"path":"../` + filepath.Base(filepath.Dir(outside)) + `/mine.parquet"},{"path":"kept.parquet"},{"path":"steps/../kept.parquet"}]}`
	if err := os.WriteFile(d.manifestPath("camp", "r"), []byte(lie), 0o600); err != nil {
		t.Fatal(err)
	}
	export(t, d, "r", "/r", "y", "dp0")
	for _, path := range []string{outside, inside} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
