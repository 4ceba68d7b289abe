package armed

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"opprof/engine/control"
	"opprof/engine/journal"
	"opprof/engine/regular"
	"opprof/engine/rundir"
)

// Window is a window that was armed and ran, as the run's folder tells it. What is not known is empty.
type Window struct {
	Number  int      // it was armed under, from 1
	Markers []Marker // one an engine
	Files   []string // its traces, without folder and compression
	StartNS int64    // when the profiler was asked to start, ns since 1970; 0 unknown
	EndNS   int64    // when its stop returned, or it was given up; 0 while it goes on
}

// Marker is where a window begins in the records of an engine.
type Marker struct {
	Engine    string
	AfterStep int64
}

// List is what a run's folder tells of its windows, by number. nil stands for a folder that nobody armed windows from.
type List struct{ Windows []Window }

// Folder reads the windows of a run, again when something has changed. Not for concurrent use.
type Folder struct {
	dir  string
	seen []stamp
	list *List
}

type stamp struct {
	path       string
	size, atNS int64
}

// NewFolder returns the Folder of a run. A folder of traces in a run's folder stands for that.
func NewFolder(dir string) *Folder {
	if filepath.Base(dir) == rundir.KinetoName {
		dir = filepath.Dir(dir)
	}
	return &Folder{dir: dir}
}

// List is what the folder tells now: nil when it has neither journal nor summaries. What cannot be read of them tells nothing.
func (f *Folder) List() *List {
	path := filepath.Join(f.dir, rundir.JournalName)
	summaries, err := filepath.Glob(filepath.Join(escape(f.dir), rundir.WindowsName, "*", "summary.json"))
	if err != nil {
		summaries = nil
	}
	var seen []stamp
	for _, p := range append([]string{path}, summaries...) {
		if st, err := os.Stat(p); err == nil {
			seen = append(seen, stamp{p, st.Size(), st.ModTime().UnixNano()})
		}
	}
	if !slices.Equal(seen, f.seen) {
		f.seen, f.list = seen, read(path, summaries)
	}
	return f.list
}

// Read reads a folder once.
func Read(dir string) *List { return NewFolder(dir).List() }

// escape takes the meaning from what Glob would read as a pattern.
func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

func read(path string, summaries []string) *List {
	windows := map[int]*Window{}
	told := readJournal(path, windows)
	for _, p := range summaries {
		told = readSummary(p, windows) || told
	}
	if !told {
		return nil
	}
	l := &List{}
	for _, w := range windows {
		l.Windows = append(l.Windows, *w)
	}
	slices.SortFunc(l.Windows, func(a, b Window) int { return a.Number - b.Number })
	return l
}

// readJournal takes when windows ran, and reports whether there is a journal.
func readJournal(path string, windows map[int]*Window) bool {
	r, err := journal.Read(path)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	for _, e := range r.Entries {
		var v struct {
			N  int    `json:"n"`
			To string `json:"to"`
		}
		if e.Event != "window_state" || e.Decode(&v) != nil || v.N < 1 {
			continue
		}
		w := windows[v.N]
		switch v.To {
		case control.WindowStarting:
			windows[v.N] = &Window{Number: v.N, StartNS: e.WallNS}
		case control.WindowVerified, control.WindowIncomplete, control.WindowFailed, control.WindowCancelled:
			if w != nil {
				w.EndNS = e.WallNS
			}
		}
	}
	return true
}

const summaryMax = 16 << 20

// readSummary takes what stays of a window, and reports whether it is a summary.
func readSummary(path string, windows map[int]*Window) bool {
	text, err := regular.Read(path, summaryMax)
	if err != nil {
		return false
	}
	var v struct {
		N            int    `json:"n"`
		StartPostNS  *int64 `json:"start_post_ns"`
		StopReturnNS *int64 `json:"stop_return_ns"`
		Engines      []struct {
			ID        string `json:"id"`
			AfterStep int64  `json:"after_step"`
		} `json:"engines"`
		Ranks []struct {
			File string `json:"file"`
		} `json:"ranks"`
	}
	if json.Unmarshal(text, &v) != nil || v.N < 1 || strconv.Itoa(v.N) != filepath.Base(filepath.Dir(path)) {
		return false
	}
	w := windows[v.N]
	if w == nil {
		w = &Window{Number: v.N}
		windows[v.N] = w
		if v.StartPostNS != nil && v.StopReturnNS != nil { // without a journal nothing else says when it ended
			w.StartNS, w.EndNS = *v.StartPostNS, *v.StopReturnNS
		}
	}
	for _, e := range v.Engines {
		w.Markers = append(w.Markers, Marker{e.ID, e.AfterStep})
	}
	for _, r := range v.Ranks {
		w.Files = append(w.Files, plain(r.File))
	}
	return true
}

// plain is a trace's name without folder and compression: traces are compressed after their window.
func plain(path string) string {
	name := filepath.Base(path)
	for _, end := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}
