package overlay

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func newTestCache(t *testing.T) *Cache {
	return NewCache(filepath.Join(t.TempDir(), "overlay"), time.Now)
}

func build(t *testing.T, c *Cache, p *Patch, s Site) *Overlay {
	t.Helper()
	o, err := c.Build(t.Context(), p, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

// wantOverlay is what an overlay must hold, worked out from the list of the installation's files.
func wantOverlay(p *Patch, s Site) map[string]string {
	want := map[string]string{".": "folder"}
	for name := range siteFiles {
		if strings.HasPrefix(name, "vllm/") && !strings.Contains(name, "__pycache__") {
			want[name] = "link " + s.file(name)
			for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
				want[dir] = "folder"
			}
		}
	}
	want["vllm/envs.py"], want["vllm/v1/core/scheduler.py"], want[recorderTarget] = envsPatched, schedulerPatched, string(p.recorder)
	return want
}

func assertWhole(t *testing.T, o *Overlay, p *Patch, s Site) {
	t.Helper()
	got := map[string]string{}
	for name, what := range snapshot(t, o.Dir) {
		if text, err := os.ReadFile(filepath.Join(o.Dir, name)); err == nil && !strings.HasPrefix(what, "link ") {
			what = string(text)
		}
		if name != markerFile {
			got[name] = what
		}
	}
	assertSame(t, "overlay", got, wantOverlay(p, s))
	if m, ok := readMarker(o.Dir); !ok || m.Site != s.Dir || m.PatchHash != p.Hash() {
		t.Errorf("marker %+v, %v", m, ok)
	}
}

func TestBuild(t *testing.T) {
	c, p, s := newTestCache(t), newTestPatch(t), newSite(t)
	before := snapshot(t, s.Dir)
	o := build(t, c, p, s)
	assertWhole(t, o, p, s)
	assertSame(t, "installation", snapshot(t, s.Dir), before)
	if o.Changed == 0 || o.PatchHash != p.Hash() || o.Lease() == nil {
		t.Errorf("overlay %+v", o)
	}
	if want := filepath.Join(c.root, "0.24.0-"+p.Hash()[:12]+"-"); !strings.HasPrefix(o.Dir, want) {
		t.Errorf("the path is %s, want %s…", o.Dir, want)
	}
	again := build(t, c, p, s)
	if again.Dir != o.Dir || again.Changed != 0 {
		t.Errorf("second build: %s, %d changes", again.Dir, again.Changed)
	}
	if other := build(t, c, p, newSite(t)); other.Dir == o.Dir {
		t.Error("two installations share an overlay")
	}
	if other := build(t, c, otherPatch(t), s); other.Dir == o.Dir {
		t.Error("two patches share an overlay")
	}
}

func TestPythonPath(t *testing.T) {
	for _, c := range []struct{ dir, inherited, want string }{
		{"/o", "", "/o"}, {"/o", "/a:/b", "/o:/a:/b"}, {"", "/a", "/a"}, {"", "", ""},
	} {
		if got := (&Overlay{Dir: c.dir}).PythonPath(c.inherited); got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}

func TestCacheRoot(t *testing.T) {
	for _, c := range []struct{ xdg, home, want string }{
		{"/x", "/h", "/x/opprof/overlay"},
		{"", "/h", "/h/.cache/opprof/overlay"},
		{"relative", "/h", "/h/.cache/opprof/overlay"},
		{"", "", ""},
	} {
		got, err := CacheRoot(func(name string) string {
			return map[string]string{"XDG_CACHE_HOME": c.xdg, "HOME": c.home}[name]
		})
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%+v: got %q, %v", c, got, err)
		}
	}
}

// An installation patched in place needs no overlay.
func TestBuildOfAPatchedInstallation(t *testing.T) {
	c, p, s := newTestCache(t), newTestPatch(t), newSite(t)
	p.mustApply(t, s)
	if o := build(t, c, p, s); o.Dir != "" || o.PythonPath("/a") != "/a" || o.Lease() != nil {
		t.Errorf("overlay %+v", o)
	}
	_, err := c.Build(t.Context(), otherPatch(t), s)
	assertErr(t, err, "other_patch", "opprof patch revert")
}

func TestBuildSeesTheInstallationChange(t *testing.T) {
	c, p, s := newTestCache(t), newTestPatch(t), newSite(t)
	o := build(t, c, p, s)
	writeTree(t, s.Dir, map[string]string{"vllm/new.py": "", "vllm/models/b/c.py": ""})
	if err := os.Remove(s.file("vllm/models/a.py")); err != nil {
		t.Fatal(err)
	}
	again := build(t, c, p, s)
	got := snapshot(t, again.Dir)
	if again.Dir != o.Dir || got["vllm/new.py"] == "" || got["vllm/models/b/c.py"] == "" || got["vllm/models/a.py"] != "" {
		t.Errorf("files added or removed were not followed: %v", slices.Sorted(maps.Keys(got)))
	}
	writeTree(t, s.Dir, map[string]string{"vllm/envs.py": "A = 2\nB = 2\n"})
	_, err := c.Build(t.Context(), p, s)
	assertErr(t, err, "vllm/envs.py", "the file was changed")
}

// An overlay found through PYTHONPATH stands for its installation.
func TestOverlayIsNotBuiltOnAnOverlay(t *testing.T) {
	c, p, s := newTestCache(t), newTestPatch(t), newSite(t)
	o := build(t, c, p, s)
	if got := openSite(t, o.Dir); got != s {
		t.Errorf("got %+v, want %+v", got, s)
	}
}

// damage is one thing that may happen to a path of an overlay.
func damage(name, how string) error {
	if err := os.RemoveAll(name); err != nil {
		return err
	}
	switch how {
	case "text":
		return os.WriteFile(name, []byte("damaged\n"), 0o644)
	case "link":
		return os.Symlink("/nowhere", name)
	case "folder":
		return os.MkdirAll(filepath.Join(name, "deep"), 0o755)
	}
	return nil
}

func TestAnyDamageIsRepaired(t *testing.T) {
	t.Parallel()
	c, p, s := newTestCache(t), newTestPatch(t), newSite(t)
	o := build(t, c, p, s)
	var names []string
	for name := range snapshot(t, o.Dir) {
		names = append(names, name)
	}
	names = append(names, "vllm/extra.py", "vllm/v1/extra.py", "vllm/.new-envs.py")
	slices.Sort(names)
	rapid.Check(t, func(r *rapid.T) {
		for range rapid.IntRange(1, 4).Draw(r, "times") {
			name := filepath.Join(o.Dir, rapid.SampledFrom(names).Draw(r, "name"))
			// A path below an earlier damage may be gone.
			err := damage(name, rapid.SampledFrom([]string{"gone", "text", "link", "folder"}).Draw(r, "how"))
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) && !errors.Is(err, unix.ENOTDIR) {
				r.Fatal(err)
			}
		}
		again, err := c.Build(t.Context(), p, s)
		if err != nil {
			r.Fatal(err)
		}
		defer again.Close()
		assertWhole(t, again, p, s)
		third, err := c.Build(t.Context(), p, s)
		if err != nil || third.Changed != 0 {
			r.Fatalf("the repair was not whole: %+v, %v", third, err)
		}
		third.Close()
	})
}

// Compiled files that Python wrote stay, except those of a file that was repaired.
func TestCompiledFilesOfAnOverlay(t *testing.T) {
	c, p, s := newTestCache(t), newTestPatch(t), newSite(t)
	o := build(t, c, p, s)
	writeTree(t, o.Dir, map[string]string{
		"vllm/envs.py":                             "damaged\n",
		"vllm/__pycache__/envs.cpython-311.pyc":    "of the damaged file",
		"vllm/__pycache__/version.cpython-311.pyc": "whole",
	})
	build(t, c, p, s)
	got := snapshot(t, filepath.Join(o.Dir, "vllm", "__pycache__"))
	if got["envs.cpython-311.pyc"] != "" || got["version.cpython-311.pyc"] == "" {
		t.Errorf("compiled files: %v", got)
	}
}

func TestManyBuildAtOnce(t *testing.T) {
	t.Parallel()
	root, p, s := filepath.Join(t.TempDir(), "overlay"), newTestPatch(t), newSite(t)
	var builders sync.WaitGroup
	var mu sync.Mutex
	made := 0
	for range 8 {
		builders.Go(func() {
			o, err := NewCache(root, time.Now).Build(t.Context(), p, s)
			if err != nil {
				t.Error(err)
				return
			}
			defer o.Close()
			assertWhole(t, o, p, s)
			mu.Lock()
			defer mu.Unlock()
			if o.Changed > 0 {
				made++
			}
		})
	}
	builders.Wait()
	if made != 1 {
		t.Errorf("%d of the builders made something, want 1", made)
	}
}

func TestBuildWaitsNoLongerThanItsContext(t *testing.T) {
	c, p, s := newTestCache(t), newTestPatch(t), newSite(t)
	unlock, err := c.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Build(ctx, p, s)
	assertErr(t, err, "another OpProf holds it", "context canceled")
}

func TestFoldersInACircle(t *testing.T) {
	c, p, s := newTestCache(t), newTestPatch(t), newSite(t)
	if err := os.Symlink("..", s.file("vllm/models/up")); err != nil {
		t.Fatal(err)
	}
	_, err := c.Build(t.Context(), p, s)
	assertErr(t, err, "circle")
	left, _ := os.ReadDir(c.root)
	for _, entry := range left {
		if entry.IsDir() {
			t.Errorf("%s was left", entry.Name())
		}
	}
}

// Python puts compiled files beside the path that it imported from: they must land in the overlay, not behind a link.
func TestCompiledFilesStayOutOfTheInstallation(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	c, p, s := newTestCache(t), newTestPatch(t), newSite(t)
	writeTree(t, s.Dir, map[string]string{"vllm/version.py": "version = '0.24.0'\n", "vllm/models/__init__.py": ""})
	o := build(t, c, p, s)
	before := countBytecode(t, s.Dir)
	cmd := exec.CommandContext(t.Context(), python, "-c", "import vllm.models.a, vllm.envs; print(vllm.envs.OPPROF, vllm.envs.__cached__)")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PYTHONPATH="+o.PythonPath(""), "PYTHONDONTWRITEBYTECODE=", "PYTHONPYCACHEPREFIX=")
	text, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(text), "3 "+o.Dir) {
		t.Fatalf("%v: %s", err, text)
	}
	if now := countBytecode(t, s.Dir); now != before {
		t.Errorf("the installation had %d compiled files and has %d", before, now)
	}
	if n := countBytecode(t, o.Dir); n != 5 {
		t.Errorf("the overlay keeps %d compiled files, want 5", n)
	}
	if again := build(t, c, p, s); again.Changed != 0 {
		t.Errorf("running from the overlay made it differ in %d places", again.Changed)
	}
}

func countBytecode(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".pyc") {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
