package rundir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// namesIn are the names in a folder.
func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestAStagedFileTakesItsName: with and without a hidden name, over a file and where none is.
func TestAStagedFileTakesItsName(t *testing.T) {
	for mode, begin := range map[string]func(string) (*Staged, error){"as the file system allows": NewStaged, "hidden": newHidden} {
		for _, c := range []struct {
			name   string
			before string // what is there; "" is nothing
			give   func(*Staged, string) error
			want   string
			err    error
		}{
			{"created", "", (*Staged).Create, "new", nil},
			{"created over a file", "old", (*Staged).Create, "old", fs.ErrExist},
			{"replaced", "old", (*Staged).Replace, "new", nil},
			{"replaced where nothing is", "", (*Staged).Replace, "new", nil},
		} {
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			if c.before != "" {
				if err := os.WriteFile(path, []byte(c.before), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			s, err := begin(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(s, "new"); err != nil {
				t.Fatal(err)
			}
			if err := c.give(s, path); !errors.Is(err, c.err) {
				t.Errorf("%s, %s: %v, want %v", mode, c.name, err, c.err)
			}
			s.Discard()
			if text, err := os.ReadFile(path); err != nil || string(text) != c.want {
				t.Errorf("%s, %s: holds %q, %v", mode, c.name, text, err)
			}
			if names := namesIn(t, dir); len(names) != 1 {
				t.Errorf("%s, %s: left %q", mode, c.name, names)
			}
		}
	}
}

// TestAKilledWriterLeavesNothing: while it writes, nothing has a name that could stay.
func TestAKilledWriterLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if f, err := nameless(dir); err != nil {
		t.Skipf("this file system has no files without a name: %v", err)
	} else if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(string, func(io.Writer) error) error{"create": CreateAtomic, "replace": WriteAtomic} {
		path := filepath.Join(dir, name)
		before := len(namesIn(t, dir))
		err := write(path, func(w io.Writer) error {
			if names := namesIn(t, dir); len(names) != before {
				t.Errorf("%s: %q are there while it is written", name, names)
			}
			_, err := io.WriteString(w, "text")
			return err
		})
		if st, statErr := os.Stat(path); err != nil || statErr != nil || st.Mode().Perm() != 0o600 || st.Size() != 4 {
			t.Errorf("%s: %v, %v, %v", name, err, st, statErr)
		}
	}
}
