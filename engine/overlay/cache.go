package overlay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// keepOverlays is how many overlays other than the one just built are kept, the last used ones.
	keepOverlays = 3
	// keepUnused protects an overlay from being pruned for a day after its last use: its server may have been started
	// without a lease, by a shell that was told the path.
	keepUnused = 24 * time.Hour
	// keyDigits of each hash stand in the folder's name.
	keyDigits = 12

	markerFile = "overlay.json"
)

// Cache is the folder of all overlays of a user. Processes may use it at once.
type Cache struct {
	root string
	now  func() time.Time
}

// NewCache uses the folder given, see [CacheRoot]. The clock dates the uses.
func NewCache(root string, now func() time.Time) *Cache { return &Cache{root: root, now: now} }

// CacheRoot is $XDG_CACHE_HOME/opprof/overlay, or the same below ~/.cache. A relative XDG_CACHE_HOME does not count,
// as the XDG specification asks.
func CacheRoot(getenv func(string) string) (string, error) {
	base := getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(base) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", errors.New("no place for the overlay: set XDG_CACHE_HOME or HOME to an absolute path")
		}
		base = filepath.Join(home, ".cache")
	}
	return filepath.Join(base, "opprof", "overlay"), nil
}

// Overlay is a package folder that is ready to be imported, or a patched installation that needs none.
type Overlay struct {
	// Dir is the PYTHONPATH entry. It is empty where the installation itself is patched.
	Dir string
	// Site is the installation behind it.
	Site Site
	// PatchHash is the hash of the patch in it, for the manifest.
	PatchHash string
	// Changed counts the files and folders that had to be made: 0 where a whole overlay was found.
	Changed int
	// PruneErr says which old overlays could not be removed. It is no reason not to use this one.
	PruneErr error

	lease *os.File
}

// PythonPath is the value of PYTHONPATH for the server, given the value that it would have without the overlay. With
// `python -m`, Python looks into the working folder first: the server must not be started in one that holds a vllm of
// its own, such as a source checkout, or it must get PYTHONSAFEPATH=1.
func (o *Overlay) PythonPath(inherited string) string {
	switch {
	case o.Dir == "":
		return inherited
	case inherited == "":
		return o.Dir
	}
	return o.Dir + string(os.PathListSeparator) + inherited
}

// Lease is an open file with a shared lock that keeps the overlay from being pruned. A child that inherits it holds
// the lock too and keeps it when this process ends. It is nil where Dir is empty.
func (o *Overlay) Lease() *os.File { return o.lease }

// Close gives up this process's share of the lease.
func (o *Overlay) Close() error {
	if o.lease == nil {
		return nil
	}
	return o.lease.Close()
}

// marker is the file in an overlay that says what it is.
type marker struct {
	Schema    int    `json:"schema"`
	Site      string `json:"site"`
	Version   string `json:"vllm_version"`
	PatchHash string `json:"patch_hash"`
}

func readMarker(dir string) (marker, bool) {
	var m marker
	text, err := os.ReadFile(filepath.Join(dir, markerFile))
	if err != nil || json.Unmarshal(text, &m) != nil || m.Schema != 1 || !filepath.IsAbs(m.Site) {
		return marker{}, false
	}
	return m, true
}

// Build makes the overlay of an installation, or verifies the one that is there and repairs what differs. The
// installation is checked on every call, so that one that changed underneath is refused. The path depends on the
// version, the patch and the installation's path alone.
func (c *Cache) Build(ctx context.Context, p *Patch, s Site) (*Overlay, error) {
	r, changes, err := p.examine(s)
	if err != nil {
		return nil, err
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	o := &Overlay{Site: s, PatchHash: p.hash}
	if r.State == StateApplied {
		return o, nil
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	o.Dir = filepath.Join(c.root, key(p, s))
	if o.Changed, err = c.place(o.Dir, p, s, changes); err != nil {
		return nil, fmt.Errorf("cannot build the overlay %s: %w", o.Dir, err)
	}
	if o.lease, err = c.use(o.Dir); err != nil {
		return nil, fmt.Errorf("cannot use the overlay %s: %w", o.Dir, err)
	}
	if err := c.prune(o.Dir); err != nil {
		o.PruneErr = fmt.Errorf("cannot remove old overlays: %w", err)
	}
	return o, nil
}

func key(p *Patch, s Site) string {
	site := sha256.Sum256([]byte(s.Dir))
	return fmt.Sprintf("%s-%s-%s", p.version, p.hash[:keyDigits], hex.EncodeToString(site[:])[:keyDigits])
}

// keyPattern recognises the folders that may be pruned.
var keyPattern = regexp.MustCompile(fmt.Sprintf(`^.+-[0-9a-f]{%d}-[0-9a-f]{%d}$`, keyDigits, keyDigits))

// lock makes builders and pruners of this cache take turns.
func (c *Cache) lock(ctx context.Context) (func(), error) {
	if err := os.MkdirAll(c.root, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the overlay cache: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(c.root, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the overlay cache: %w", err)
	}
	if err := lockWait(ctx, f); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// place makes the overlay in a temporary sibling that is renamed into place, or repairs one in place, file by file,
// since a server may be running from it.
func (c *Cache) place(dir string, p *Patch, s Site, changes []change) (int, error) {
	text, err := json.Marshal(marker{Schema: 1, Site: s.Dir, Version: s.Version, PatchHash: p.hash})
	if err != nil {
		return 0, err
	}
	m := mirror{source: s.Package(), patched: map[string][]byte{}}
	for _, ch := range changes {
		if rel, ok := cutPackage(ch.path); ok {
			m.patched[rel] = ch.after
		}
	}
	target := dir
	if at, err := os.Lstat(dir); err != nil || !at.IsDir() {
		if err := removeIfThere(dir); err != nil {
			return 0, err
		}
		if target, err = os.MkdirTemp(c.root, ".new-"); err != nil {
			return 0, err
		}
		defer os.RemoveAll(target)
	}
	if err := m.only(target, map[string]bool{"vllm": true, markerFile: true}); err != nil {
		return 0, err
	}
	if err := m.sync(filepath.Join(target, "vllm")); err != nil {
		return 0, err
	}
	if err := m.file(filepath.Join(target, markerFile), append(text, '\n')); err != nil {
		return 0, err
	}
	if target != dir {
		err = os.Rename(target, dir)
	}
	return m.changed, err
}

// use dates the overlay and takes the shared lock on its marker.
func (c *Cache) use(dir string) (*os.File, error) {
	f, err := os.Open(filepath.Join(dir, markerFile))
	if err != nil {
		return nil, err
	}
	now := c.now()
	if err := errors.Join(tryLock(f, unix.LOCK_SH), os.Chtimes(f.Name(), now, now)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
