package overlay

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxDepth ends the walk through folders that link to each other in a circle.
const maxDepth = 40

// mirror makes one folder look like a package with some files patched. Folders are real ones everywhere, not links:
// Python writes compiled files beside a source's path, and through a linked folder they would land in the user's
// installation. A second run changes nothing and counts so.
type mirror struct {
	source  string            // the package's folder
	patched map[string][]byte // text by path below it
	changed int
}

// cutPackage gives the path below the package, or false for a file outside of it, as the test is.
func cutPackage(p string) (string, bool) { return strings.CutPrefix(p, "vllm/") }

// sync makes or repairs the mirror.
func (m *mirror) sync(target string) error { return m.folder(target, "", 0) }

// folder makes one folder equal: what is missing or different is made anew, what is not in the source is removed.
func (m *mirror) folder(target, rel string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("folders of %s link to each other in a circle", m.source)
	}
	if err := m.realFolder(target); err != nil {
		return err
	}
	want, err := m.wanted(rel)
	if err != nil {
		return err
	}
	if err := m.only(target, want); err != nil {
		return err
	}
	for name, isFolder := range want {
		if err := m.entry(filepath.Join(target, name), path.Join(rel, name), isFolder, depth); err != nil {
			return err
		}
	}
	return nil
}

// only removes what does not belong in a folder; a stray module there could hide a real one.
func (m *mirror) only(target string, want map[string]bool) error {
	have, err := os.ReadDir(target)
	if err != nil {
		return err
	}
	for _, entry := range have {
		if _, ok := want[entry.Name()]; ok || entry.Name() == "__pycache__" {
			continue
		}
		m.changed++
		if err := os.RemoveAll(filepath.Join(target, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (m *mirror) entry(target, rel string, isFolder bool, depth int) error {
	text, patched := m.patched[rel]
	switch {
	case isFolder:
		return m.folder(target, rel, depth+1)
	case patched:
		return m.file(target, text)
	}
	return m.link(target, filepath.Join(m.source, filepath.FromSlash(rel)))
}

// wanted lists the names of one folder of the mirror and whether each is a folder. Compiled files stay behind: those
// of the patched files would be stale, and Python makes new ones.
func (m *mirror) wanted(rel string) (map[string]bool, error) {
	folder := filepath.Join(m.source, filepath.FromSlash(rel))
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	want := make(map[string]bool, len(entries))
	for _, entry := range entries {
		name := entry.Name()
		if name == "__pycache__" || name == stateFolder {
			continue
		}
		want[name] = entry.IsDir()
		if entry.Type()&fs.ModeSymlink != 0 {
			at, err := os.Stat(filepath.Join(folder, name))
			want[name] = err == nil && at.IsDir()
		}
	}
	for p := range m.patched {
		if path.Dir(p) == rel || rel == "" && path.Dir(p) == "." {
			want[path.Base(p)] = false
		}
	}
	return want, nil
}

func (m *mirror) realFolder(target string) error {
	at, err := os.Lstat(target)
	if err == nil && at.IsDir() {
		return nil
	}
	m.changed++
	if err == nil {
		err = os.Remove(target)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.MkdirAll(target, 0o755)
}

// link points target at a file of the installation.
func (m *mirror) link(target, to string) error {
	if have, err := os.Readlink(target); err == nil && have == to {
		return nil
	}
	// Nearly always there is nothing in the way, and making a link is atomic.
	if err := os.Symlink(to, target); err == nil {
		m.changed++
		return nil
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	return m.put(target, func(name string) error { return os.Symlink(to, name) })
}

// file gives target the text, unless it is a regular file that has it.
func (m *mirror) file(target string, text []byte) error {
	if at, err := os.Lstat(target); err == nil && at.Mode().IsRegular() {
		have, err := os.ReadFile(target)
		if err == nil && bytes.Equal(have, text) {
			return nil
		}
	}
	return m.put(target, func(name string) error { return os.WriteFile(name, text, 0o644) })
}

// put makes a file beside target and renames it over, so that a reader sees the old one or the new one.
func (m *mirror) put(target string, write func(name string) error) error {
	m.changed++
	staged := filepath.Join(filepath.Dir(target), ".new-"+filepath.Base(target))
	if err := removeIfThere(staged); err != nil {
		return err
	}
	if err := write(staged); err != nil {
		return err
	}
	if at, err := os.Lstat(target); err == nil && at.IsDir() {
		if err := os.RemoveAll(target); err != nil {
			return err
		}
	}
	if err := os.Rename(staged, target); err != nil {
		return err
	}
	return removeBytecode(target)
}
