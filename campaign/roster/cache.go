package roster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"opprof/engine/index"
	"opprof/engine/regular"
	"opprof/engine/rundir"
)

const (
	// cacheSchema changes when figures come to mean something else.
	cacheSchema = 3
	// cacheMax bounds what is read of a cache file; a real one has about 1 kB.
	cacheMax = 1 << 20
)

type cacheFile struct {
	Schema  int      `json:"schema"`
	Path    string   `json:"path"`
	Stamp   string   `json:"stamp"`
	Figures *Figures `json:"figures"`
}

// stampOf changes when a file changes that the figures of a run come from.
func stampOf(dir, indexDir string) string {
	h := sha256.New()
	add := func(path string) {
		if st, err := os.Stat(path); err == nil {
			fmt.Fprintf(h, "%q %d %d\n", path, st.Size(), st.ModTime().UnixNano())
		}
	}
	add(filepath.Join(dir, rundir.ManifestName))
	for _, folder := range []string{filepath.Join(dir, rundir.Layer1Name), dir} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			if _, _, ok := rundir.StreamName(path); !ok {
				continue
			}
			add(path)
			for _, p := range index.Paths(path, indexDir) {
				add(p)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func (k *Keeper) cachePath(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	sum := sha256.Sum256([]byte(abs))
	return filepath.Join(k.o.CacheDir, "figures-"+hex.EncodeToString(sum[:8])+".json")
}

// cached are the figures of a run as they were kept; not ok when there are none that hold.
func (k *Keeper) cached(dir, stamp string) (*Figures, bool) {
	if k.o.CacheDir == "" {
		return nil, false
	}
	text, err := regular.Read(k.cachePath(dir), cacheMax)
	if err != nil {
		return nil, false
	}
	var c cacheFile
	if err := json.Unmarshal(text, &c); err != nil || c.Schema != cacheSchema || c.Path != dir || c.Stamp != stamp || c.Figures == nil {
		return nil, false
	}
	return c.Figures, true
}

// cache keeps figures. What cannot be kept is read again the next time.
func (k *Keeper) cache(dir, stamp string, f *Figures) {
	if k.o.CacheDir == "" || os.MkdirAll(k.o.CacheDir, rundir.DirMode) != nil {
		return
	}
	_ = rundir.WriteAtomic(k.cachePath(dir), func(w io.Writer) error {
		return json.NewEncoder(w).Encode(cacheFile{cacheSchema, dir, stamp, f})
	})
}
