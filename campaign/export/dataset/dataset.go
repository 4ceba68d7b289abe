package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"opprof/engine/regular"
	"opprof/engine/rundir"
)

const (
	lockName     = ".opprof-export.lock"
	manifestRoot = "_exports" // readers of data sets pass over names that begin with an underscore or a dot
	temporary    = ".tmp"
	outdated     = ".old" // a manifest whose files are being replaced
	manifestMax  = 64 << 20
	// ManifestSchema is the schema of the manifests.
	ManifestSchema = 1
)

// ErrBusy says that another export writes to the folder.
var ErrBusy = errors.New("another export is writing to this folder")

// Dataset is a folder of exported tables, held by one process until Close.
type Dataset struct {
	dir    string
	tables []string
	lock   *os.File
}

// Open makes the folder where it is missing, takes it, and removes what killed exports left of the given tables. The error wraps ErrBusy while
// another process holds it.
func Open(dir string, tables ...string) (*Dataset, error) {
	if err := os.MkdirAll(dir, rundir.DirMode); err != nil {
		return nil, fmt.Errorf("cannot make export folder: %w", err)
	}
	lock, err := regular.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, rundir.FileMode)
	if err != nil {
		return nil, fmt.Errorf("cannot take export folder: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrBusy
		}
		return nil, fmt.Errorf("cannot export to %s: %w", dir, err)
	}
	d := &Dataset{dir: dir, tables: tables, lock: lock}
	if err := d.clear(); err != nil {
		_ = d.Close()
		return nil, err
	}
	return d, nil
}

// Close lets the folder go.
func (d *Dataset) Close() error { return d.lock.Close() }

// clear removes temporary files. Whoever wrote them is dead: the lock is ours.
func (d *Dataset) clear() error {
	for _, table := range d.tables {
		err := filepath.WalkDir(filepath.Join(d.dir, table), func(path string, e fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case e.Type().IsRegular() && isTemporary(e.Name()):
				return os.Remove(path)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("cannot clear export folder: %w", err)
		}
	}
	return nil
}

func isTemporary(name string) bool {
	return strings.HasPrefix(name, ".part-") && strings.HasSuffix(name, temporary)
}

// Manifest says what an export of one run wrote. It is there only while all its files are.
type Manifest struct {
	Schema   int     `json:"schema"`
	Campaign string  `json:"campaign"` // "" for a run of its own
	Run      string  `json:"run"`
	Source   string  `json:"source"` // path of what was exported
	Files    []Entry `json:"files"`
	Read     any     `json:"read"` // what was read, as the exporter says
}

// Entry is one file of an export.
type Entry struct {
	Path   string `json:"path"` // below the folder, with slashes
	Table  string `json:"table"`
	Engine string `json:"engine"` // "" for what belongs to no engine
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
}

func (d *Dataset) manifestPath(campaign, run string) string {
	return filepath.Join(d.dir, manifestRoot, partition("campaign", campaign), partition("run", run)+".json")
}

// earlier reads the manifest of an earlier export of a run; nil when there is none, or none that can be read.
func (d *Dataset) earlier(campaign, run string) *Manifest {
	at := d.manifestPath(campaign, run)
	text, err := regular.Read(at, manifestMax)
	if err != nil {
		if text, err = regular.Read(at+outdated, manifestMax); err != nil {
			return nil
		}
	}
	m := &Manifest{}
	if json.Unmarshal(text, m) != nil {
		return nil
	}
	m.Files = slices.DeleteFunc(m.Files, func(e Entry) bool { return !d.ours(e.Path) })
	return m
}

// ours reports whether a path is one that an export gives: what a manifest says is believed no further.
func (d *Dataset) ours(name string) bool {
	table, _, _ := strings.Cut(name, "/")
	return path.Clean(name) == name && filepath.IsLocal(filepath.FromSlash(name)) && slices.Contains(d.tables, table) && strings.HasSuffix(name, ".parquet")
}
