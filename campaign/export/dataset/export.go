package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"opprof/engine/rundir"
)

// Export is a run on its way into a dataset. Commit or Abort ends it.
type Export struct {
	dataset       *Dataset
	campaign, run string
	source        string
	before        *Manifest
	files         []*File
	made          []string // folders
}

// File is one table of one engine while it is written.
type File struct {
	out   *os.File
	temp  string
	entry Entry
}

// Begin starts the export of a run. It is refused where the folder holds a run of the same names from another source.
func (d *Dataset) Begin(campaign, run, source string) (*Export, error) {
	e := &Export{dataset: d, campaign: campaign, run: run, source: source, before: d.earlier(campaign, run)}
	if e.before != nil && e.before.Source != source {
		return nil, fmt.Errorf("cannot export %s to %s: it already holds a run %q exported from %s; export to another folder, or remove %s and what it lists",
			source, d.dir, run, e.before.Source, d.manifestPath(campaign, run))
	}
	return e, nil
}

// Create begins the next part of a table of an engine; "" is no engine.
func (e *Export) Create(table, engine string) (*File, error) {
	dir := filepath.Join(table, partition("campaign", e.campaign), partition("run", e.run), partition("engine", engine))
	number := 0
	for _, f := range e.files {
		if f.entry.Table == table && f.entry.Engine == engine {
			number++
		}
	}
	name := fmt.Sprintf("part-%05d.parquet", number)
	f := &File{temp: filepath.Join(dir, "."+name+temporary), entry: Entry{Path: filepath.ToSlash(filepath.Join(dir, name)), Table: table, Engine: engine}}
	if err := e.makeDir(dir); err != nil {
		return nil, fmt.Errorf("cannot make partition: %w", err)
	}
	out, err := os.OpenFile(filepath.Join(e.dataset.dir, f.temp), os.O_CREATE|os.O_EXCL|os.O_WRONLY, rundir.FileMode)
	if err != nil {
		return nil, fmt.Errorf("cannot write table: %w", err)
	}
	f.out = out
	e.files = append(e.files, f)
	return f, nil
}

// makeDir makes a folder and keeps in mind which of its parents are new.
func (e *Export) makeDir(dir string) error {
	var missing []string
	for at := dir; at != "."; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(e.dataset.dir, at)); err == nil {
			break
		}
		missing = append(missing, at)
	}
	if err := os.MkdirAll(filepath.Join(e.dataset.dir, dir), rundir.DirMode); err != nil {
		return err
	}
	slices.Reverse(missing)
	e.made = append(e.made, missing...)
	return nil
}

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.out.Write(p)
	f.entry.Bytes += int64(n)
	return n, err
}

// Close ends the file with a number of rows. It has no name of its own before Commit.
func (f *File) Close(rows int64) error {
	f.entry.Rows = rows
	err := errors.Join(f.out.Sync(), f.out.Close())
	f.out = nil
	return err
}

// Commit gives all files their names, removes those of an earlier export of the run that have no successor, and writes the manifest. read is what
// the manifest tells of the source.
func (e *Export) Commit(read any) (Manifest, error) {
	m := Manifest{Schema: ManifestSchema, Campaign: e.campaign, Run: e.run, Source: e.source, Files: []Entry{}, Read: read}
	path := e.dataset.manifestPath(e.campaign, e.run)
	if err := os.Rename(path, path+outdated); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("cannot replace earlier export: %w", err)
	}
	for _, f := range e.files {
		if err := os.Rename(filepath.Join(e.dataset.dir, f.temp), filepath.Join(e.dataset.dir, filepath.FromSlash(f.entry.Path))); err != nil {
			return m, fmt.Errorf("cannot name table: %w", err)
		}
		m.Files = append(m.Files, f.entry)
	}
	if err := e.syncFolders(); err != nil {
		return m, fmt.Errorf("cannot bring the names of tables to the disk: %w", err)
	}
	if err := e.removeStale(m.Files); err != nil {
		return m, err
	}
	if err := os.MkdirAll(filepath.Dir(path), rundir.DirMode); err != nil {
		return m, fmt.Errorf("cannot write manifest: %w", err)
	}
	e.files = nil
	err := rundir.WriteAtomic(path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(m)
	})
	if err == nil {
		_ = os.Remove(path + outdated)
	}
	return m, err
}

// syncFolders brings the names of the files, and of the folders that were made for them, to the disk: the manifest promises them.
func (e *Export) syncFolders() error {
	folders := map[string]bool{}
	for _, f := range e.files {
		folders[filepath.Dir(f.temp)] = true
	}
	for _, made := range e.made {
		folders[filepath.Dir(made)] = true
	}
	for folder := range folders {
		if err := rundir.SyncFolder(filepath.Join(e.dataset.dir, folder)); err != nil {
			return err
		}
	}
	return nil
}

func (e *Export) removeStale(now []Entry) error {
	if e.before == nil {
		return nil
	}
	for _, old := range e.before.Files {
		if slices.ContainsFunc(now, func(n Entry) bool { return n.Path == old.Path }) {
			continue
		}
		path := filepath.Join(e.dataset.dir, filepath.FromSlash(old.Path))
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove earlier export: %w", err)
		}
		_ = os.Remove(filepath.Dir(path)) // unless it holds something else
	}
	return nil
}

// Abort removes what was written and not committed. An earlier export of the run stays as it was.
func (e *Export) Abort() {
	for _, f := range e.files {
		if f.out != nil {
			_ = f.out.Close()
		}
		_ = os.Remove(filepath.Join(e.dataset.dir, f.temp))
	}
	slices.Reverse(e.made)
	for _, dir := range e.made {
		_ = os.Remove(filepath.Join(e.dataset.dir, dir)) // unless it holds something
	}
	e.files, e.made = nil, nil
}
