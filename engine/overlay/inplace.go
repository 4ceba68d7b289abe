package overlay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"opprof/engine/rundir"

	"golang.org/x/sys/unix"
)

// Apply patches an installation in place. Every new text, the backups and the state are on disk before the first file
// changes; each file is then replaced by a rename. A tree that is patched already is left alone, a half-applied one is
// finished, another patch is replaced. It reports whether anything changed.
func (p *Patch) Apply(s Site) (bool, error) {
	unlock, err := lockTree(s)
	if err != nil {
		return false, err
	}
	defer unlock()
	r, changes, err := p.examine(s)
	if err != nil || r.State == StateApplied {
		return false, err
	}
	if r.State == StateHalfApplied || r.State == StateOtherPatch {
		// Back to the originals first: they are what the guard and the anchors are about.
		if err := restoreTree(s); err != nil {
			return false, err
		}
		if r, changes, err = p.examine(s); err != nil {
			return true, err
		}
	}
	if err := r.Err(); err != nil {
		return false, err
	}
	return true, p.replaceFiles(s, changes)
}

// Revert restores an installation byte for byte, modes and times included. It needs only the state that apply left, so
// it also takes back a patch of another OpProf. It reports whether anything changed.
func (p *Patch) Revert(s Site) (bool, error) {
	unlock, err := lockTree(s)
	if err != nil {
		return false, err
	}
	defer unlock()
	_, found, err := readTreeState(s)
	if err != nil {
		return false, err
	}
	if !found {
		return false, removeState(s)
	}
	return true, restoreTree(s)
}

// lockTree keeps two commands from changing one tree. The lock is on the package folder itself and leaves nothing
// behind.
func lockTree(s Site) (func(), error) {
	f, err := os.Open(s.Package())
	if err != nil {
		return nil, fmt.Errorf("cannot open the package: %w", err)
	}
	if err := tryLock(f, unix.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("cannot change %s: %w", s.Package(), err)
	}
	return func() { f.Close() }, nil
}

func (p *Patch) replaceFiles(s Site, changes []change) error {
	t, err := p.stage(s, changes)
	if err != nil {
		return errors.Join(err, removeState(s))
	}
	return t.commit(s)
}

// commit moves the staged files into place, and takes back those moved when one fails.
func (t treeState) commit(s Site) error {
	if err := writeState(s, t); err != nil {
		return errors.Join(explain(s, err), removeState(s))
	}
	for i, f := range t.Files {
		if err := replace(filepath.Join(stateDir(s), stagedName(i)), s.file(f.Path)); err != nil {
			return errors.Join(explain(s, err), restoreTree(s))
		}
	}
	return nil
}

// stage writes the backups and the new texts into the state folder, where a full disk or a missing permission is found
// before anything of vLLM's changes.
func (p *Patch) stage(s Site, changes []change) (treeState, error) {
	t := treeState{Schema: 1, PatchHash: p.hash, Version: p.version}
	if err := removeState(s); err != nil {
		return t, explain(s, err)
	}
	if err := os.Mkdir(stateDir(s), 0o755); err != nil {
		return t, explain(s, err)
	}
	for i, c := range changes {
		f, err := stageFile(s, i, c)
		if err != nil {
			return t, explain(s, err)
		}
		t.Files = append(t.Files, f)
	}
	return t, nil
}

func stagedName(i int) string { return fmt.Sprintf("new-%d", i) }

func stageFile(s Site, i int, c change) (fileState, error) {
	f := fileState{Path: c.path, After: sha256Hex(c.after), Mode: 0o644}
	owner := s.Package()
	if !c.isNew {
		owner = s.file(c.path)
		if err := f.recordOriginal(s, i, c.before); err != nil {
			return f, err
		}
	}
	if err := insidePackage(s, c.path); err != nil {
		return f, err
	}
	staged := filepath.Join(stateDir(s), stagedName(i))
	return f, writeFile(staged, c.after, fs.FileMode(f.Mode), owner)
}

// recordOriginal notes what revert must bring back and writes the backup.
func (f *fileState) recordOriginal(s Site, i int, text []byte) error {
	name := s.file(f.Path)
	at, err := os.Stat(name)
	if err != nil {
		return err
	}
	f.Before, f.Backup = sha256Hex(text), fmt.Sprintf("old-%d", i)
	f.Mode, f.ModifiedNS = uint32(at.Mode().Perm()), at.ModTime().UnixNano()
	if link, err := os.Readlink(name); err == nil {
		f.Link = link
	}
	return writeFile(filepath.Join(stateDir(s), f.Backup), text, at.Mode().Perm(), name)
}

// insidePackage refuses a file that a linked folder moves out of the tree: renaming into it would change another
// installation.
func insidePackage(s Site, path string) error {
	folder, err := filepath.EvalSymlinks(filepath.Dir(s.file(path)))
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(s.Dir, folder); err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return fmt.Errorf("cannot patch %s: its folder is a link to %s, outside of %s; patch that installation", path, folder, s.Dir)
	}
	return nil
}

// restoreTree brings every file back and then forgets the state. A file that holds neither text stays as it is and is
// an error, with the state kept.
func restoreTree(s Site) error {
	t, found, err := readTreeState(s)
	if err != nil || !found {
		return err
	}
	for _, f := range t.Files {
		if side, sum, err := f.side(s); err != nil {
			return err
		} else if side == sideOther {
			return fmt.Errorf("cannot revert %s: it was changed after the patch was applied (sha256 %s); keep your change elsewhere, remove %s and install vllm again", f.Path, sum, stateDir(s))
		}
	}
	for i, f := range t.Files {
		if err := f.restore(s, i); err != nil {
			return explain(s, err)
		}
	}
	return removeState(s)
}

func (f fileState) restore(s Site, i int) error {
	name := s.file(f.Path)
	if side, _, err := f.side(s); err != nil || side == sideBefore {
		return err
	}
	if f.Before == "" {
		if err := os.Remove(name); err != nil {
			return err
		}
		return errors.Join(removeBytecode(name), rundir.SyncFolder(filepath.Dir(name)))
	}
	staged := filepath.Join(stateDir(s), fmt.Sprintf("back-%d", i))
	if f.Link != "" {
		if err := errors.Join(removeIfThere(staged), os.Symlink(f.Link, staged)); err != nil {
			return err
		}
		return replace(staged, name)
	}
	text, err := f.readBackup(s)
	if err != nil {
		return err
	}
	if err := writeFile(staged, text, fs.FileMode(f.Mode), name); err != nil {
		return err
	}
	modified := time.Unix(0, f.ModifiedNS)
	if err := os.Chtimes(staged, modified, modified); err != nil {
		return err
	}
	return replace(staged, name)
}

func writeState(s Site, t treeState) error {
	text, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return err
	}
	staged := statePath(s) + ".new"
	if err := writeFile(staged, append(text, '\n'), 0o644, s.Package()); err != nil {
		return err
	}
	if err := os.Rename(staged, statePath(s)); err != nil {
		return err
	}
	return errors.Join(rundir.SyncFolder(stateDir(s)), rundir.SyncFolder(s.Package()))
}

// removeState forgets the state file first: backups without it mean nothing.
func removeState(s Site) error {
	if err := removeIfThere(statePath(s)); err != nil {
		return err
	}
	return os.RemoveAll(stateDir(s))
}
