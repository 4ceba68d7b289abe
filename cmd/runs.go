package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"opprof/engine/rundir"
)

// latestRun is the name that stands for the run that was written to last.
const latestRun = "latest"

const runArgument = `RUN is a path (a run's folder, its layer1 folder, a .jsonl file, or a folder with such files), the id of a run under the runs
root or the beginning of one, or "latest".`

func (e *Env) runs() ([]rundir.Listed, error) {
	root, err := e.places().Runs()
	if err != nil {
		return nil, err
	}
	return rundir.List(root)
}

// openRun finds and opens the run that a RUN argument means. A path wins over an id.
func (e *Env) openRun(arg string) (*rundir.Run, error) {
	if _, err := os.Stat(arg); err == nil || strings.ContainsRune(arg, filepath.Separator) || !errors.Is(err, fs.ErrNotExist) {
		return rundir.Open(arg)
	}
	runs, err := e.runs()
	if err != nil {
		return nil, err
	}
	root, err := e.places().Runs()
	if err != nil {
		return nil, err
	}
	hint := "opprof demo shows a recorded run; opprof info says where runs are looked for"
	if arg == latestRun {
		if path := newest(runs); path != "" {
			return rundir.Open(path)
		}
		return nil, WithHint(fmt.Errorf("cannot open the latest run: there is no run in %s", root), hint)
	}
	matches := matching(runs, arg)
	switch len(matches) {
	case 0:
		return nil, WithHint(fmt.Errorf("cannot open run: there is no file or folder %q, and no run of that id in %s", arg, root), hint)
	case 1:
		return rundir.Open(matches[0].Path)
	}
	ids := make([]string, len(matches))
	for i, m := range matches {
		ids[i] = m.ID
	}
	return nil, usageErrorf("cannot open run: %q begins the ids of %d runs: %s", arg, len(ids), strings.Join(ids[:min(len(ids), 8)], ", "))
}

// matching gives the runs whose id is arg, or else those whose id begins with it.
func matching(runs []rundir.Listed, arg string) []rundir.Listed {
	var begin []rundir.Listed
	for _, r := range runs {
		if r.ID == arg {
			return []rundir.Listed{r}
		}
		if arg != "" && strings.HasPrefix(r.ID, arg) {
			begin = append(begin, r)
		}
	}
	return begin
}

// newest is the path of the run whose files were written to last, "" without runs.
func newest(runs []rundir.Listed) string {
	var path string
	var at time.Time
	for _, r := range runs {
		if t := touched(r.Path); path == "" || t.After(at) {
			path, at = r.Path, t
		}
	}
	return path
}

// touched is the latest modification of a run's folder or of what its recorder and supervisor write.
func touched(run string) time.Time {
	var at time.Time
	files, _ := filepath.Glob(filepath.Join(run, rundir.Layer1Name, "*"))
	for _, f := range append(files, run, filepath.Join(run, rundir.JournalName), filepath.Join(run, rundir.ServerLogName)) {
		if st, err := os.Stat(f); err == nil && st.ModTime().After(at) {
			at = st.ModTime()
		}
	}
	return at
}
