// Package capture loads what profiler windows left on disk: trace files are read, one goroutine a file, broken down by rank, grouped into
// windows, and joined with the Layer-1 steps of their engines.
package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"opprof/traces/family"
	"opprof/traces/join"
	"opprof/traces/kineto"
	"opprof/traces/rank"
)

// Input says what to load.
type Input struct {
	Traces   []string // trace files
	Streams  []string // Layer-1 streams of the same run; none leaves windows unjoined
	Rules    *family.Rules
	Taxonomy []string           // traces of windows without CUDA graphs of the same model, read only for the places of kernels that they teach
	Parallel int                // files read at once; 0 is one a processor
	Progress func(done, of int) // called after each file, from any goroutine; may be nil
	Runs     []Run              // that the traces lie in, for the numbers of their windows; none numbers by time
}

// Capture is what was loaded.
type Capture struct {
	Windows []join.Window // by time
	Names   []string      // of Windows: what each is called
	Paths   map[*rank.Breakdown]string
	Failed  []Failure
}

// Failure is a file that gave no breakdown, and why: damaged from its first byte, foreign, or without permission.
type Failure struct {
	Path string
	Err  error
}

// Why is the error for readers who see the path beside it: without that.
func (f Failure) Why() string {
	text := f.Err.Error()
	for _, before := range []string{"", "cannot read trace ", "cannot open trace: open "} {
		if rest, found := strings.CutPrefix(text, before+f.Path+": "); found {
			return rest
		}
	}
	return text
}

// Load reads all files. A file that fails is listed and does not keep the others from being shown; an error means that ctx ended.
func Load(ctx context.Context, in Input) (*Capture, error) {
	files := readAll(ctx, in, in.Traces, nil)
	teach(ctx, in, files)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &Capture{Paths: map[*rank.Breakdown]string{}}
	var all []*rank.Breakdown
	for i, f := range files {
		if f.err != nil {
			c.Failed = append(c.Failed, Failure{in.Traces[i], f.err})
			continue
		}
		all = append(all, f.breakdown)
		c.Paths[f.breakdown] = in.Traces[i]
	}
	groups := join.Groups(all, ranksOf(in.Streams))
	steps, err := collect(ctx, in.Streams, groups)
	if err != nil {
		return nil, err
	}
	for i, g := range groups {
		c.Windows = append(c.Windows, steps.window(i, g))
	}
	c.name(in.Runs)
	return c, nil
}

type file struct {
	breakdown *rank.Breakdown
	err       error
}

// teach learns the places of nameless kernels from the taxonomy's traces, and from those of the same folder as a file, and reads the files
// again that this helps. In most windows a kernel's neighbours tell its place, and nothing is read twice.
func teach(ctx context.Context, in Input, files []file) {
	taxonomy := rank.Taxonomy{}
	for _, f := range readAll(ctx, in, in.Taxonomy, nil) {
		if f.breakdown != nil {
			taxonomy.Add(f.breakdown.Teach())
		}
	}
	folders := map[string]rank.Taxonomy{}
	for i, f := range files {
		if f.breakdown == nil {
			continue
		}
		dir := filepath.Dir(in.Traces[i])
		if folders[dir] == nil {
			folders[dir] = maps.Clone(taxonomy)
		}
		folders[dir].Add(f.breakdown.Teach())
	}
	for i, f := range files {
		if f.breakdown == nil {
			continue
		}
		if known := folders[filepath.Dir(in.Traces[i])]; known.Helps(f.breakdown) {
			files[i] = readOne(ctx, in.Traces[i], in.Rules, known)
		}
	}
}

// readAll reads files side by side, in the order of paths.
func readAll(ctx context.Context, in Input, paths []string, taxonomy rank.Taxonomy) []file {
	out := make([]file, len(paths))
	parallel := cmp.Or(in.Parallel, runtime.GOMAXPROCS(0))
	slots := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for i, path := range paths {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			out[i] = readOne(ctx, path, in.Rules, taxonomy)
			if in.Progress != nil {
				mu.Lock()
				done++
				n := done
				mu.Unlock()
				in.Progress(n, len(paths))
			}
		})
	}
	wg.Wait()
	return out
}

func readOne(ctx context.Context, path string, rules *family.Rules, taxonomy rank.Taxonomy) file {
	t, err := kineto.Open(ctx, path, kineto.Options{})
	if err != nil {
		return file{err: err}
	}
	if why := foreign(t); why != "" {
		return file{err: fmt.Errorf("%s: %w: %s", path, ErrForeign, why)}
	}
	return file{breakdown: rank.Analyse(t, rules, taxonomy)}
}

// ErrForeign says that a file is a trace, but not one of a serving window.
var ErrForeign = errors.New("not a serving window")

// foreign recognises traces that would be misread as windows: those of the API server, and those of a graph capture, whose many launches
// put almost nothing on the device.
func foreign(t *kineto.Trace) string {
	switch {
	case isFrontEnd(t.Name):
		return "a trace of the API server: it has no device work"
	case t.Events.Len() == 0 && len(t.Launches) == 0 && len(t.Labels) == 0 && t.CPUOps == 0:
		return "it holds no events of a server"
	case len(t.Launches) > captureLaunches && t.Events.Len()*20 < len(t.Launches) && capturing(t):
		return "a trace of a graph capture: its launches did not run"
	}
	return ""
}

// captureLaunches is how many launches a trace must have before their lack of device work means anything.
const captureLaunches = 200

func capturing(t *kineto.Trace) bool {
	return slices.ContainsFunc(t.Launches, func(l kineto.Launch) bool {
		return slices.Contains([]string{"cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaGraphInstantiate", "hipStreamBeginCapture",
			"cudaStreamBeginCapture_v10000", "cudaGraphInstantiateWithFlags"}, t.Names[l.Name])
	})
}

func isFrontEnd(name string) bool {
	ok, _ := filepath.Match("*.async_llm.*", name)
	return ok
}
