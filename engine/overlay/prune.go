package overlay

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// prune removes what builders that died left, and overlays that are neither among the last used, nor used within a
// day, nor leased. The caller holds the cache's lock.
func (c *Cache) prune(current string) error {
	entries, err := os.ReadDir(c.root)
	if err != nil {
		return err
	}
	type candidate struct {
		dir  string
		used time.Time
	}
	var candidates []candidate
	for _, entry := range entries {
		dir := filepath.Join(c.root, entry.Name())
		if strings.HasPrefix(entry.Name(), ".new-") || strings.HasPrefix(entry.Name(), ".old-") {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		if !keyPattern.MatchString(entry.Name()) || dir == current {
			continue
		}
		at, statErr := os.Stat(filepath.Join(dir, markerFile))
		if statErr != nil {
			// Without its marker nothing can be leasing it; it counts as unused since ever.
			candidates = append(candidates, candidate{dir: dir})
			continue
		}
		candidates = append(candidates, candidate{dir: dir, used: at.ModTime()})
	}
	slices.SortFunc(candidates, func(a, b candidate) int { return b.used.Compare(a.used) })
	for i, old := range candidates {
		if i >= keepOverlays && c.now().Sub(old.used) > keepUnused {
			err = errors.Join(err, c.remove(old.dir))
		}
	}
	return err
}

// remove takes an overlay away unless it is leased. It is renamed first, so that no half of it keeps its name.
func (c *Cache) remove(dir string) error {
	f, err := os.Open(filepath.Join(dir, markerFile))
	if err == nil {
		defer f.Close()
		if err := tryLock(f, unix.LOCK_EX); errors.Is(err, errLocked) {
			return nil
		} else if err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	gone := filepath.Join(c.root, ".old-"+filepath.Base(dir))
	if err := os.Rename(dir, gone); err != nil {
		return err
	}
	return os.RemoveAll(gone)
}
