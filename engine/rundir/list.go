package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
)

// Listed is one run under a runs root, as far as names and the manifest tell.
type Listed struct {
	Path     string
	ID       string
	Campaign string    // name of the campaign's folder, "" for a run of its own
	Manifest *Manifest // nil when missing or broken
	Problems []string
}

// List gives the runs under root and those of the campaigns there, newest id first. A root that does not exist yet has none.
func List(root string) ([]Listed, error) {
	if _, err := os.ReadDir(root); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("cannot list runs: %w; it needs read and search permission", err)
	}
	var runs []Listed
	add := func(path, campaign string) {
		if !isRun(path) {
			return
		}
		l := Listed{Path: path, ID: filepath.Base(path), Campaign: campaign}
		l.Manifest, l.Problems = ReadManifest(path)
		if l.Manifest != nil && l.Manifest.ID != "" {
			l.ID = l.Manifest.ID
		}
		runs = append(runs, l)
	}
	for _, dir := range foldersIn(root) {
		add(dir, "")
		if fileIn(dir, "campaign.toml") == "" {
			continue
		}
		for _, run := range foldersIn(filepath.Join(dir, "runs")) {
			add(run, filepath.Base(dir))
		}
	}
	sort.SliceStable(runs, func(i, j int) bool { return runs[i].ID > runs[j].ID })
	return runs, nil
}
