package overlay

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// siteFiles is a small installation with every kind of entry that a real one has: sources, data, a shared object, a
// folder off the way to any patched file, and compiled files.
var siteFiles = map[string]string{
	"vllm/__init__.py":                       "from .version import version\n",
	"vllm/_version.py":                       "version: str\n__version__ = version = '0.24.0'\n",
	"vllm/envs.py":                           "A = 1\nB = 2\n",
	"vllm/_C.abi3.so":                        "\x7fELF",
	"vllm/__pycache__/envs.cpython-311.pyc":  "stale",
	"vllm/__pycache__/other.cpython-311.pyc": "stale",
	"vllm/v1/__init__.py":                    "",
	"vllm/v1/core/scheduler.py":              "def schedule():\n    x = 1\n    return x\n",
	"vllm/v1/core/data.json":                 "{}",
	"vllm/models/configs/a.json":             "[]",
	"vllm/models/a.py":                       "pass\n",
	"vllm-0.24.0+cpu.dist-info/METADATA":     "Metadata-Version: 2.1\nName: vllm\nVersion: 0.24.0+cpu\n",
	"numpy/__init__.py":                      "",
}

const (
	schedulerPatched = "def schedule():\n    x = 1\n    record(x)\n    return x\n"
	envsPatched      = "A = 1\nOPPROF = 3\nB = 2\nC = 4\n"
)

func newSite(t *testing.T) Site {
	t.Helper()
	dir := t.TempDir()
	writeTree(t, dir, siteFiles)
	return openSite(t, dir)
}

func openSite(t *testing.T, dir string) Site {
	t.Helper()
	s, err := OpenSite(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func writeTree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// editsTOML is the synthetic patch; the hashes are those of siteFiles.
func editsTOML() string {
	return fmt.Sprintf(`vllm_version = "0.24.0"

[[file]]
path = "vllm/envs.py"
sha256 = "%s"
  [[file.edit]]
  name = "last"
  anchor = "B = 2\n"
  where = "after"
  text = "C = 4\n"
  [[file.edit]]
  name = "declare"
  anchor = "B = 2"
  where = "before"
  text = "OPPROF = 3\n"

[[file]]
path = "vllm/v1/core/scheduler.py"
sha256 = "%s"
  [[file.edit]]
  name = "finalize"
  anchor = "    return x"
  where = "before"
  text = "    record(x)\n"
`, sha256Hex([]byte(siteFiles["vllm/envs.py"])), sha256Hex([]byte(siteFiles["vllm/v1/core/scheduler.py"])))
}

func patchTree() fstest.MapFS {
	return fstest.MapFS{
		editsFile:    {Data: []byte(editsTOML())},
		recorderFile: {Data: []byte("\"\"\"Recorder.\"\"\"\n" + hashLine + "\n")},
		testFile:     {Data: []byte("def test_nothing(): pass\n")},
	}
}

func newTestPatch(t *testing.T) *Patch { return patchOf(t, patchTree()) }

func patchOf(t *testing.T, tree fs.FS) *Patch {
	t.Helper()
	p, err := NewPatch(tree)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// otherPatch differs in its recorder, and so in its hash.
func otherPatch(t *testing.T) *Patch {
	tree := patchTree()
	tree[recorderFile] = &fstest.MapFile{Data: []byte("# another\n" + hashLine + "\n")}
	return patchOf(t, tree)
}

// snapshot maps every path below a folder to what is there, with mode and time of files.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at, err := entry.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		switch {
		case entry.IsDir():
			found[rel] = "folder"
		case entry.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(name)
			found[rel] = "link " + to
			return err
		default:
			text, err := os.ReadFile(name)
			found[rel] = fmt.Sprintf("%v %s %q", at.Mode(), at.ModTime().Format(time.RFC3339Nano), text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func assertSame(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	keys := slices.Sorted(maps.Keys(want))
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is new: %s", what, name, got[name])
		}
	}
	for _, name := range keys {
		if got[name] != want[name] {
			t.Errorf("%s: %s\n got %s\nwant %s", what, name, got[name], want[name])
		}
	}
}

func assertText(t *testing.T, name, want string) {
	t.Helper()
	got, err := os.ReadFile(name)
	if err != nil {
		t.Error(err)
		return
	}
	if string(got) != want {
		t.Errorf("%s:\n got %q\nwant %q", name, got, want)
	}
}

func assertErr(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error lacks %q:\n%v", part, err)
		}
	}
}
