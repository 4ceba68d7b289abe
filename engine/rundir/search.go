package rundir

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"
)

const (
	// bareDepth is how many levels below an opened folder files are looked for.
	bareDepth = 3
	// entriesMax bounds a search, so that opening a home folder or / ends soon.
	entriesMax = 20_000
)

type kind uint8

const (
	kindBare   kind = iota // a folder that is no run
	kindRun                // has one of a run's own names
	kindLayer1             // the layer1 folder of a run, or a folder of that name
)

// placeOf says what sort of folder path is and which folder is its run's root.
func placeOf(path string) (root string, k kind) {
	if isRun(path) {
		return path, kindRun
	}
	if abs := absolute(path); filepath.Base(abs) == Layer1Name {
		if beside(filepath.Dir(abs)) {
			return filepath.Join(path, ".."), kindLayer1
		}
		return path, kindLayer1
	}
	return path, kindBare
}

// isRun goes by the names that only a run's folder has: a layer1 folder, a manifest, or a journal without a campaign.
func isRun(path string) bool {
	if st, err := os.Stat(filepath.Join(path, Layer1Name)); err == nil && st.IsDir() {
		return true
	}
	if fileIn(path, ManifestName) != "" {
		return true
	}
	return fileIn(path, JournalName) != "" && fileIn(path, "campaign.toml") == ""
}

// beside reports whether a folder that holds a layer1 folder has anything else of a run.
func beside(parent string) bool {
	for _, name := range []string{ManifestName, JournalName, ServerLogName} {
		if fileIn(parent, name) != "" {
			return true
		}
	}
	st, err := os.Stat(filepath.Join(parent, KinetoName))
	return err == nil && st.IsDir()
}

// runsBelow lists the runs at most two levels below path.
func runsBelow(path string) []string {
	var runs []string
	for _, dir := range foldersIn(path) {
		if isRun(dir) {
			runs = append(runs, dir)
			continue
		}
		for _, below := range foldersIn(dir) {
			if isRun(below) {
				runs = append(runs, below)
			}
		}
	}
	return runs
}

func foldersIn(path string) []string {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, e := range entries[:min(len(entries), entriesMax)] {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		full := filepath.Join(path, e.Name())
		if st, err := os.Stat(full); err == nil && st.IsDir() {
			dirs = append(dirs, full)
		}
	}
	return dirs
}

func nameSome(paths []string) string {
	names := make([]string, 0, 6)
	for _, p := range paths {
		if len(names) == 5 {
			names = append(names, "…")
			break
		}
		names = append(names, filepath.Base(p))
	}
	return strings.Join(names, ", ")
}

// search looks for streams and traces. The zero search finds nothing.
type search struct {
	file     string // one stream file; nothing else is looked for
	root     string
	depth    int    // levels below root
	fallback string // where to look, not deeper, when root has no stream
}

type found struct {
	streams, traces, problems []string
	entries                   int
	err                       error // root itself could not be listed
}

func (s search) find() *found {
	f := new(found)
	f.walk(s.root, s.depth, true)
	if len(f.streams) == 0 && s.fallback != "" {
		f.err = nil
		f.walk(s.fallback, 0, true)
	}
	f.streams = orderStreams(distinct(f.streams))
	f.traces = distinct(f.traces)
	slices.Sort(f.traces)
	f.traces = withoutTwins(f.traces)
	return f
}

// withoutTwins drops the compressed copies of traces that are still there: whoever makes one removes the plain file last. traces are sorted.
func withoutTwins(traces []string) []string {
	var kept []string
	for _, path := range traces {
		if plain, packed := strings.CutSuffix(path, ".gz"); packed {
			if _, twin := slices.BinarySearch(traces, plain); twin {
				continue
			}
		}
		kept = append(kept, path)
	}
	return kept
}

// distinct keeps one name of each file: links, and folders that lead back to themselves, give a file several. The one nearest to the top
// stays.
func distinct(paths []string) []string {
	type inode struct{ device, number uint64 }
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, separator), strings.Count(b, separator)), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	seen := map[inode]bool{}
	return slices.DeleteFunc(paths, func(path string) bool {
		st, err := os.Stat(path)
		if err != nil {
			return false // whoever opens it says why
		}
		sys, ok := st.Sys().(*syscall.Stat_t)
		if !ok {
			return false
		}
		id := inode{uint64(sys.Dev), sys.Ino}
		twice := seen[id]
		seen[id] = true
		return twice
	})
}

const separator = string(filepath.Separator)

// walk follows links, since layer1 may be one; the depth bounds a loop.
func (f *found) walk(dir string, depth int, top bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if top {
			f.err = err
		}
		if !top || !os.IsNotExist(err) {
			f.problems = append(f.problems, fmt.Sprintf("cannot list %s: %v; what it holds is not shown", dir, err))
		}
	}
	for _, e := range entries {
		if f.entries++; f.entries > entriesMax {
			f.problems = append(f.problems, fmt.Sprintf("stopped looking after %d files in %s; name the run's own folder", entriesMax, dir))
			return
		}
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		f.take(filepath.Join(dir, e.Name()), e, depth)
	}
}

func (f *found) take(path string, e os.DirEntry, depth int) {
	mode := e.Type()
	if mode&os.ModeSymlink != 0 {
		st, err := os.Stat(path)
		if err != nil {
			return // a broken link is not a file
		}
		mode = st.Mode().Type()
	}
	switch {
	case mode.IsDir():
		if depth > 0 && e.Name() != BenchName && e.Name() != ExpertsName {
			f.walk(path, depth-1, false)
		}
	case !mode.IsRegular():
	case IsTrace(path):
		f.traces = append(f.traces, path)
	default:
		if _, _, ok := StreamName(path); ok {
			f.streams = append(f.streams, path)
		}
	}
}

// orderStreams drops foreign JSONL beside the recorder's own files and the compressed twin of a plain file, and sorts by base name, the
// oldest part of a stream first.
func orderStreams(paths []string) []string {
	if slices.ContainsFunc(paths, isRecorderName) {
		paths = slices.DeleteFunc(paths, func(p string) bool { return !isRecorderName(p) })
	}
	type part struct {
		base string
		age  int
		path string
	}
	parts := make([]part, len(paths))
	for i, p := range paths {
		base, age, _ := StreamName(p)
		parts[i] = part{base, age, p}
	}
	sort.Slice(parts, func(i, j int) bool {
		a, b := parts[i], parts[j]
		if a.base != b.base {
			return a.base < b.base
		}
		if a.age != b.age {
			return a.age > b.age
		}
		return a.path < b.path // the plain file is a prefix of its compressed twin's name
	})
	parts = slices.CompactFunc(parts, func(a, b part) bool { return a.base == b.base && a.age == b.age })
	ordered := paths[:0]
	for _, p := range parts {
		ordered = append(ordered, p.path)
	}
	return ordered
}

func dedupe(sentences []string) []string {
	var kept []string
	for _, s := range sentences {
		if !slices.Contains(kept, s) {
			kept = append(kept, s)
		}
	}
	return kept
}
