package rundir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"opprof/engine/regular"
)

// Contents is what lies in a run's folder.
type Contents struct {
	Manifest *Manifest // nil when there is none
	Config   string    // text of the effective configuration; "" when there is none
	Files    []File    // by path
	More     int64     // files that are not listed, as there are too many
	Bytes    int64     // of the listed files
	Problems []string  // what could not be read, in sentences
}

// File is one file of a run.
type File struct {
	Path  string // below the run's folder
	Bytes int64
	ModNS int64 // when it was last written, ns since 1970
}

const (
	filesMax  = 2000
	configMax = 1 << 20
	filesDeep = 3
)

// Contents looks at the run's folder. Only the end of ctx is an error.
func (r *Run) Contents(ctx context.Context) (*Contents, error) {
	c := &Contents{}
	c.Manifest, c.Problems = ReadManifest(r.Root)
	c.readConfig(filepath.Join(r.Root, ConfigName))
	if err := c.list(ctx, r.Root, "", filesDeep); err != nil {
		return nil, err
	}
	sort.Slice(c.Files, func(i, j int) bool { return c.Files[i].Path < c.Files[j].Path })
	return c, nil
}

func (c *Contents) readConfig(path string) {
	f, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var text []byte
	if err == nil {
		defer f.Close()
		text, err = io.ReadAll(io.LimitReader(f, configMax))
	}
	if err != nil {
		c.Problems = append(c.Problems, fmt.Sprintf("cannot read the run's configuration: %v", err))
	}
	c.Config = string(text)
}

// list adds the files of a folder and of those below it.
func (c *Contents) list(ctx context.Context, root, below string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(root, below))
	if err != nil {
		c.Problems = append(c.Problems, fmt.Sprintf("cannot list %s: %v", filepath.Join(root, below), err))
	}
	for _, e := range entries {
		path := filepath.Join(below, e.Name())
		switch st, err := e.Info(); {
		case err != nil: // deleted meanwhile
		case st.IsDir() && depth > 0:
			if err := c.list(ctx, root, path, depth-1); err != nil {
				return err
			}
		case st.Mode().IsRegular() && len(c.Files) < filesMax:
			c.Files = append(c.Files, File{Path: path, Bytes: st.Size(), ModNS: st.ModTime().UnixNano()})
			c.Bytes += st.Size()
		case st.Mode().IsRegular():
			c.More++
		}
	}
	return nil
}
