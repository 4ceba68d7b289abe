package supervisor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const apartVariable = "OPPROF_TEST_COMPRESS"

// apartMain is what TestMain runs in the process that compresses.
func apartMain(paths []string) int {
	out, err := WriteCompressed(context.Background(), paths)
	if err != nil {
		return 1
	}
	_, _ = os.Stdout.Write(out)
	return 0
}

func writeTraces(t *testing.T, names ...string) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("a trace"), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func TestCompressedByAnotherProcess(t *testing.T) {
	paths := writeTraces(t, "rank0.1.pt.trace.json", "rank1.1.pt.trace.json")
	do := CompressApart(os.Args[0], []string{os.Args[0]}, append(os.Environ(), apartVariable+"=1"))
	out, err := do(t.Context(), paths)
	if err != nil {
		t.Fatal(err)
	}
	for i := range paths {
		if out[i] != paths[i]+".gz" {
			t.Errorf("%s became %s", paths[i], out[i])
		}
		assertInflates(t, out[i], "a trace")
	}
	if err := os.WriteFile(paths[0], []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err = do(t.Context(), paths[:1])
	if err == nil || !strings.Contains(err.Error(), "does not hold the same") || out[0] != paths[0] {
		t.Errorf("%v, %v", out, err)
	}
}

// TestAFolderThatIsNotUTF8: its traces come back under the names that they have.
func TestAFolderThatIsNotUTF8(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run \xff")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Skipf("this file system has no such names: %v", err)
	}
	path := filepath.Join(dir, "rank0.1.pt.trace.json")
	if err := os.WriteFile(path, []byte("a trace"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "rank1.1.pt.trace.json")
	do := CompressApart(os.Args[0], []string{os.Args[0]}, append(os.Environ(), apartVariable+"=1"))
	out, err := do(t.Context(), []string{path, missing})
	if err == nil || out[0] != path+".gz" || out[1] != missing {
		t.Errorf("%q, %v", out, err)
	}
	assertInflates(t, path+".gz", "a trace")
}

// TestTheProcessThatCompressesFails: what it leaves is found by looking.
func TestTheProcessThatCompressesFails(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		argv []string
		want string
	}{
		"not there":  {"/nowhere/opprof", []string{"opprof"}, "/nowhere/opprof"},
		"takes away": {"/bin/sh", []string{"sh", "-c", `rm "$0"; exit 3`}, "exit status 3"},
		"killed":     {"/bin/sh", []string{"sh", "-c", `gzip "$0"; kill -9 $$`}, "signal: killed"},
		"complains":  {"/bin/sh", []string{"sh", "-c", `gzip "$0"; echo no room >&2; exit 3`}, "no room: exit status 3"},
		"says less":  {"/bin/sh", []string{"sh", "-c", `gzip "$0"; echo '{"packed":[]}'`}, `/bin/sh answered "{\"packed\":[]}\n": expected what became of 2 traces`},
	} {
		t.Run(name, func(t *testing.T) {
			paths := writeTraces(t, "rank0.1.pt.trace.json", "rank1.1.pt.trace.json")
			out, err := CompressApart(c.path, c.argv, os.Environ())(t.Context(), paths)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), paths[0]+" and 1 more") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
			want := paths[0] + ".gz"
			if name == "not there" || name == "takes away" {
				want = paths[0]
			}
			if len(out) != 2 || out[0] != want || out[1] != paths[1] {
				t.Errorf("%v", out)
			}
		})
	}
}

// TestTheProcessThatCompressesIsStopped: it is told to end, and nothing comes on its input until then.
func TestTheProcessThatCompressesIsStopped(t *testing.T) {
	paths := writeTraces(t, "rank0.1.pt.trace.json")
	begun := filepath.Join(t.TempDir(), "begun")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for {
			if _, err := os.Stat(begun); err == nil || ctx.Err() != nil {
				cancel()
				return
			}
			<-ticker.C
		}
	}()
	argv := []string{"sh", "-c", `trap 'exit 7' TERM; : > ` + begun + `; read line; exit 8`}
	out, err := CompressApart("/bin/sh", argv, os.Environ())(ctx, paths)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "exit status 7") || out[0] != paths[0] {
		t.Errorf("%v, %v", out, err)
	}
}
