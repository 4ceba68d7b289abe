package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"opprof/engine/regular"
)

// Run is what lies under one opened path. All paths are joined to Path or its folder, in a fixed order.
type Run struct {
	Path      string // what was opened, cleaned: a folder or one file
	Root      string // the run's folder; that of the file when one file was opened
	ID        string // from the manifest, else the folder's or file's name
	Streams   []string
	Traces    []string
	ServerLog string // "" when there is none
	Manifest  *Manifest
	Problems  []string // what could not be read, in sentences

	streams search
}

// Open looks at path: a run's folder, its layer1 folder, one Layer-1 or trace file, or a folder that merely holds such files at most three
// levels down. It reads names and the manifest only. An error says what was looked for and what to do.
func Open(path string) (*Run, error) {
	if path == "" {
		return nil, errors.New("cannot open run: no path given; name a run folder or a .jsonl file")
	}
	path = filepath.Clean(path)
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("cannot open run: %s does not exist; name a run folder, its layer1 folder or a .jsonl file", path)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("cannot open run: no permission to look at %s; ask its owner for read access or run as that user", path)
	case err != nil:
		return nil, fmt.Errorf("cannot open run: %w", err)
	case st.Mode().IsRegular():
		return openFile(path)
	case st.IsDir():
		return openDir(path)
	}
	return nil, fmt.Errorf("cannot open run: %s is neither a file nor a folder (%s); name a run folder or a .jsonl file", path, st.Mode().Type())
}

func openFile(path string) (*Run, error) {
	r := &Run{Path: path, Root: filepath.Dir(path), ID: filepath.Base(path)}
	if IsTrace(path) {
		r.Traces = []string{path}
		return r, nil
	}
	ok, err := holdsStream(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open run: %w; check its permissions", err)
	}
	if !ok {
		return nil, fmt.Errorf("cannot open run: %s is not a Layer-1 stream (.jsonl, .jsonl.gz, .jsonl.zst) and not a trace (.pt.trace.json, .pt.trace.json.gz); name such a file or the run's folder", path)
	}
	if base, _, named := StreamName(path); named {
		r.ID = strings.TrimSuffix(filepath.Base(base), ".jsonl")
	}
	r.Streams, r.streams = []string{path}, search{file: path}
	return r, nil
}

// holdsStream goes by the name, and for any other name by the first byte: JSON text or the magic of gzip or zstd.
func holdsStream(path string) (bool, error) {
	f, err := regular.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if _, _, ok := StreamName(path); ok {
		return true, nil
	}
	var head [4]byte
	n, _ := f.ReadAt(head[:], 0)
	return n > 0 && (head[0] == '{' || string(head[:2]) == "\x1f\x8b" || string(head[:]) == "\x28\xb5\x2f\xfd"), nil
}

func openDir(path string) (*Run, error) {
	if _, err := os.ReadDir(path); err != nil {
		return nil, fmt.Errorf("cannot open run: cannot list %s: %w; it needs read and search permission", path, regular.Cause(err, path))
	}
	root, kind := placeOf(path)
	r := &Run{Path: path, Root: root}
	switch kind {
	case kindRun:
		r.streams = search{root: filepath.Join(root, Layer1Name), depth: 2, fallback: root}
	case kindLayer1:
		r.streams = search{root: path, depth: 2}
	case kindBare:
		if runs := runsBelow(path); len(runs) > 1 {
			return nil, fmt.Errorf("cannot open run: %s holds %d runs (%s); name one of them", path, len(runs), nameSome(runs))
		}
		r.streams = search{root: path, depth: bareDepth}
	}
	r.look()
	if kind == kindBare && len(r.Streams) == 0 && len(r.Traces) == 0 {
		return nil, fmt.Errorf("cannot open run: nothing to show in %s: looked %d levels down for %s, %s/*.jsonl, *.jsonl[.gz|.zst] and *.pt.trace.json[.gz]%s; name the folder of a run",
			path, bareDepth, ManifestName, Layer1Name, afterwards(r.Problems))
	}
	return r, nil
}

func afterwards(problems []string) string {
	if len(problems) == 0 {
		return ""
	}
	return " (" + strings.Join(problems, "; ") + ")"
}

// look fills everything but the place itself.
func (r *Run) look() {
	found := r.streams.find()
	r.Streams = found.streams
	if r.Root == r.streams.root { // a bare folder: the same walk has seen the traces
		r.Traces = found.traces
	} else {
		below := (search{root: r.Root, depth: bareDepth}).find()
		r.Traces = below.traces
		found.problems = append(found.problems, below.problems...)
	}
	r.ServerLog = fileIn(r.Root, ServerLogName)
	var problems []string
	r.Manifest, problems = ReadManifest(r.Root)
	r.Problems = dedupe(append(found.problems, problems...))
	r.ID = filepath.Base(absolute(r.Root))
	if r.Manifest != nil && r.Manifest.ID != "" {
		r.ID = r.Manifest.ID
	}
}

// ListStreams looks for the stream files again: new ones appear while a server starts, and parts are rotated. Any goroutine may call it.
func (r *Run) ListStreams() ([]string, error) {
	if r.streams.file != "" {
		return []string{r.streams.file}, nil
	}
	if r.streams.root == "" {
		return nil, nil
	}
	found := r.streams.find()
	return found.streams, found.err
}

// Describe says what rundir knows of the run: identity, places and what the manifest tells.
func (r *Run) Describe() Description {
	d := Description{ID: r.ID, Path: r.Path, ServerLog: r.ServerLog, Problems: append([]string(nil), r.Problems...)}
	for _, path := range r.Streams {
		s := Stream{Path: path}
		if st, err := os.Stat(path); err != nil {
			s.Error = err.Error()
		} else {
			s.Bytes = st.Size()
		}
		d.Streams = append(d.Streams, s)
	}
	for _, path := range r.Traces {
		if below, err := filepath.Rel(r.Root, path); err == nil {
			path = below
		}
		d.Traces = append(d.Traces, path)
	}
	if m := r.Manifest; m != nil {
		d.Model = m.Model.Name
		d.Serves(m.Model.Path)
		d.VLLMVersion, d.PatchHash = m.Versions["vllm"], m.Versions["patch_hash"]
		d.TensorParallel, d.DataParallel, d.PipeParallel, d.ExpertParallel = m.Parallel.TP, m.Parallel.DP, m.Parallel.PP, m.Parallel.EP
		d.PrefixCaching = m.Cache.Prefix
		if m.Exit != nil {
			d.Kind = "finished"
		}
	}
	return d
}

func fileIn(dir, name string) string {
	path := filepath.Join(dir, name)
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	return path
}

// absolute gives a name to ".".
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
