package retention

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"opprof/campaign/progress"
	"opprof/campaign/runner"
	"opprof/engine/compact"
	"opprof/engine/notes"
	"opprof/engine/rundir"
	"opprof/engine/supervisor"
	"opprof/engine/unit"
)

// Look finds the runs under a root and those of the campaigns there. The root may be a link; what lies below it may not. notesDir is where
// notes lie of runs whose folder cannot be written, "" for nowhere.
func Look(root, notesDir string, now time.Time) ([]Run, error) {
	root, err := filepath.EvalSymlinks(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot look at the runs: %w", err)
	}
	listed, err := rundir.List(root)
	if err != nil {
		return nil, err
	}
	unfinished := map[string]string{}
	var runs []Run
	for _, l := range listed {
		r := Run{ID: l.ID, Path: l.Path, Campaign: l.Campaign, notesDir: notesDir}
		if link := linkBelow(root, l.Path); link != "" {
			r.Used = link + " is a link or no folder, and nothing is touched through one"
		} else {
			r.measure()
			r.Used = used(l.Path, now)
			r.Kept = noted(l.Path, notesDir)
		}
		if l.Campaign != "" && r.Kept == "" {
			dir := filepath.Dir(filepath.Dir(l.Path))
			if _, known := unfinished[dir]; !known {
				unfinished[dir] = notFinished(dir)
			}
			r.Kept = unfinished[dir]
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// linkBelow is the first link on the way from root down to path, "" when none is.
func linkBelow(root, path string) string {
	below, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(below) {
		return path
	}
	at := root
	for _, name := range strings.Split(below, string(filepath.Separator)) {
		at = filepath.Join(at, name)
		if st, err := os.Lstat(at); err != nil || !st.IsDir() {
			return at
		}
	}
	return ""
}

// measure adds up what a run takes on the disk. Links are not followed, a file with several names counts once.
func (r *Run) measure() {
	seen := map[uint64]bool{}
	_ = filepath.WalkDir(r.Path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be listed is not counted
		}
		st, err := d.Info()
		if err != nil {
			return nil
		}
		if sys, ok := st.Sys().(*syscall.Stat_t); ok && !seen[sys.Ino] {
			seen[sys.Ino] = true
			r.Bytes += sys.Blocks * 512
		}
		if isStream(path) && st.Mode().IsRegular() && !strings.HasSuffix(path, ".zst") && !strings.HasSuffix(path, ".gz") {
			r.Plain++
		}
		return nil
	})
	r.Touched = touched(r.Path)
}

// touched is when the recorder, the supervisor or the server wrote last. Compacting keeps the times of records, and what is derived from a run does
// not count; a run of other files goes by the newest of them.
func touched(dir string) (at time.Time) {
	take := func(path string) {
		if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() && st.ModTime().After(at) {
			at = st.ModTime()
		}
	}
	records, _ := os.ReadDir(filepath.Join(dir, rundir.Layer1Name))
	for _, e := range records {
		if path := filepath.Join(dir, rundir.Layer1Name, e.Name()); isStream(path) {
			take(path)
		}
	}
	take(filepath.Join(dir, rundir.JournalName))
	take(filepath.Join(dir, rundir.ServerLogName))
	if !at.IsZero() {
		return at
	}
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			take(path)
		}
		return nil
	})
	if st, err := os.Lstat(dir); err == nil && at.IsZero() {
		at = st.ModTime()
	}
	return at
}

func isStream(path string) bool {
	_, _, ok := rundir.StreamName(path)
	return ok
}

// used says why a run is in use, "" when it is not.
func used(dir string, now time.Time) string {
	stand, err := supervisor.Stand(dir)
	switch {
	case errors.Is(err, supervisor.ErrNoJournal):
	case err != nil:
		return "how it stands is not known: " + err.Error()
	case stand.Supervised:
		return "its supervisor runs"
	case stand.Open && stand.Status.Server.PID > 0:
		return "its server runs"
	}
	run, err := rundir.Open(dir)
	if err != nil {
		return "" // there is nothing in it that somebody could write to
	}
	streams, err := run.ListStreams()
	if err != nil {
		return "whether its records are being written is not known: " + err.Error()
	}
	for _, path := range streams {
		if why := compact.Written(path, now); why != "" {
			return filepath.Base(path) + ": " + why
		}
	}
	return ""
}

// noted says that somebody keeps notes or bookmarks about a run; notes that were taken back do not count.
func noted(dir, notesDir string) string {
	list, err := notes.NewBook(dir, notesDir, time.Now).Read()
	switch {
	case err != nil:
		return "its notes cannot be read: " + err.Error()
	case len(list.Notes) > 0:
		return "it has " + unit.Counted(len(list.Notes), "note")
	case list.BadLines > 0:
		return "some of its notes cannot be read: " + list.FirstBad
	}
	return ""
}

// notFinished says that a campaign is not finished, "" when it is.
func notFinished(dir string) string {
	if !runner.Is(dir) {
		return "its campaign is not finished"
	}
	c, err := runner.Stand(dir)
	switch {
	case err != nil:
		return "how its campaign stands is not known: " + err.Error()
	case c.RunnerPID != nil || c.State != progress.Finished:
		return "its campaign is not finished"
	}
	return ""
}
