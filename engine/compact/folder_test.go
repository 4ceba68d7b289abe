package compact

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestOneProcessAtATime(t *testing.T) {
	dir := t.TempDir()
	path := put(t, filepath.Join(dir, name), recording(t, "h200-tp2-eager"))
	_, err := Stream(t.Context(), path, Options{at: func(at string) {
		if at != stepWritten {
			return
		}
		var refused *RefusedError
		if _, err := Stream(t.Context(), path, Options{}); !errors.As(err, &refused) || !strings.Contains(err.Error(), "another opprof") {
			t.Errorf("the second: %v", err)
		}
	}})
	if err != nil {
		t.Error(err)
	}
}

// Where there are no locks, two may do the same work: the first to name its copy has done it, and the file of the other stays until then.
func TestTwoWithoutLocks(t *testing.T) {
	dir := t.TempDir()
	data := recording(t, "h200-tp2-eager")
	path := put(t, filepath.Join(dir, name), data)
	_, err := Stream(t.Context(), path, Options{at: func(at string) {
		if at == stepRead {
			put(t, path+".zst", []byte("of the other"))
		}
	}})
	if got := files(t, dir); !errors.Is(err, fs.ErrExist) || !slices.Equal(got, []string{name, name + ".zst"}) {
		t.Errorf("%v, the folder holds %q", err, got)
	}
}

func TestOnlyOwnLeftoversAreRemoved(t *testing.T) {
	dir := t.TempDir()
	path := put(t, filepath.Join(dir, name), []byte("x\n"))
	other := []string{"." + name + ".zst.12a.tmp", "." + name + ".zst.tmp", ".other.jsonl.zst.1.tmp", name + ".zst.1.tmp"}
	for _, n := range append(other, "."+name+".zst.123.tmp") {
		put(t, filepath.Join(dir, n), nil)
	}
	if _, err := Stream(t.Context(), path, Options{}); err != nil {
		t.Fatal(err)
	}
	want := append(slices.Clone(other), name+".zst")
	slices.Sort(want)
	if got := files(t, dir); !slices.Equal(got, want) {
		t.Errorf("the folder holds %q, want %q", got, want)
	}
}
