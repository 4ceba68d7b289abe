package rundir

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Listed is one run under a runs root, as far as names and the manifest tell.
type Listed struct {
	Path     string
	ID       string
	Campaign string    // name of the campaign's folder, "" for a run of its own
	BeganNS  int64     // by its journal or streams, ns since 1970; 0 unknown
	Manifest *Manifest // nil when missing or broken
	Problems []string
}

// List gives the runs under root and those of the campaigns there, the one begun last first, those of unknown beginning last, by id. A root that does not exist yet has none.
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
		l := Listed{Path: path, ID: filepath.Base(path), Campaign: campaign, BeganNS: began(path)}
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
	slices.SortStableFunc(runs, func(a, b Listed) int { return cmp.Or(cmp.Compare(b.BeganNS, a.BeganNS), cmp.Compare(b.ID, a.ID)) })
	return runs, nil
}
