package rundir

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
)

func TestSyncFolder(t *testing.T) {
	dir := t.TempDir()
	if err := SyncFolder(dir); err != nil {
		t.Errorf("a folder: %v", err)
	}
	if err := SyncFolder(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}
