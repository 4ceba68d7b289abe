package catalog

import (
	"opprof/engine/armed"
	"opprof/engine/store"
	"opprof/traces/family"
	"opprof/traces/join"
	"opprof/traces/rank"
)

// State is how far a window has come, in a word.
type State string

// States. Verified, Unjoined and Incomplete are those of join: the traces were read.
const (
	Armed      State = "armed"     // the next window of a run that was asked for one
	Recording  State = "recording" // the profiler runs
	Flushing   State = "flushing"  // traces are being written, or expected any moment
	Reading    State = "reading"   // trace files are whole and not read yet
	Recorded   State = "recorded"  // its marker is all there is
	Verified         = State(join.Verified)
	Unjoined         = State(join.Unjoined)
	Incomplete       = State(join.Incomplete)
	Failed     State = "failed" // its files gave nothing
)

// Window is one profiler window of a run. What is not known yet is at its zero value.
type Window struct {
	Key     string // names the window as long as the run is open
	Number  int    // it was armed under, or by time where the run's folder does not tell; 0 for one that nobody armed
	Stray   int    // of one that nobody armed, by time among those; 0 for others
	Ordered bool   // the run's folder tells which windows were armed
	State   State
	Reason  string // why it is not verified, in a sentence; "" when nothing is to be said

	Marker *store.Window // nil for traces without a marker
	TimeNS int64         // start of the profiler, or else of the first label, ns since 1970

	// FirstStep and LastStep are the labelled steps; before the traces are read, and where there are none, those between the markers. 0 when
	// unknown: where traces cannot be tied to steps, or no step was submitted between the markers.
	FirstStep, LastStep int64
	StallNS             *int64 // how long writing the traces held serving up (stall.Export); nil when unknown, as where no labels are tied to steps
	Ranks, Expected     int    // files that were read, and ranks of the engine; 0 when unknown
	Files               []File

	Steps     []join.Step      // the first ones after the marker, while there is no Detail
	Detail    *join.Window     // nil until its traces were read
	Timelines []*rank.Timeline // by rank of Detail, for windows that are looked at; nil entries are not known
}

// Name is what the window is called everywhere: its number, or t1, t2 … when nobody armed it.
func (w *Window) Name() string { return armed.Name{Number: w.Number, Stray: w.Stray}.String() }

// File is one trace file of a window.
type File struct {
	Path  string
	Bytes int64
	State FileState
	Why   string // of a file that failed or is not whole
}

// FileState is how far a file has come.
type FileState uint8

const (
	FilePending FileState = iota // being written
	FileWaiting                  // whole, not read yet
	FileRead
	FileFailed // gave nothing
)

// List is what is known of a run's windows at one moment. It is immutable.
type List struct {
	Version uint64
	Windows []Window // by time
	Done    int      // files read or given up
	Of      int      // files seen
	Problem string   // why the folder could not be looked at; "" when it could
}

// Find returns the window of a key; nil when there is none.
func (l *List) Find(key string) *Window {
	if l == nil {
		return nil
	}
	for i := range l.Windows {
		if l.Windows[i].Key == key {
			return &l.Windows[i]
		}
	}
	return nil
}

// Active are the iterations that count: those behind the warm-up, or all where there are no others.
func Active(w *join.Window) []join.Iteration {
	for i := range w.Iterations {
		if !w.Iterations[i].Warmup {
			return w.Iterations[i:]
		}
	}
	return w.Iterations
}

// Figures are the sums of one rank over the active iterations of a window.
type Figures struct {
	Iterations           int
	SumNS, UnionNS       int64
	Launches             int64
	NonCollectiveUnionNS int64
	Families             rank.Families
	WaitNS               int64 // in collectives for later ranks; -1 when unknown
}

// OverlapNS is by how much the family unions exceed the union.
func (f *Figures) OverlapNS() int64 {
	var all int64
	for i := range f.Families {
		all += f.Families[i].UnionNS
	}
	return all - f.UnionNS
}

// RankFigures sums a rank up, by its index in the window. Work that no iteration launched is left out.
func RankFigures(w *join.Window, k int) Figures {
	var f Figures
	for _, it := range Active(w) {
		r := it.Ranks[k]
		if r == nil {
			continue
		}
		f.Iterations++
		f.SumNS += r.Total.SumNS
		f.UnionNS += r.Total.UnionNS
		f.Launches += r.Total.Launches
		f.NonCollectiveUnionNS += r.NonCollective.UnionNS
		for i := range family.Count {
			f.Families[i].SumNS += r.Families[i].SumNS
			f.Families[i].UnionNS += r.Families[i].UnionNS
			f.Families[i].Launches += r.Families[i].Launches
		}
		if wait := it.Waits[k]; wait < 0 || f.WaitNS < 0 {
			f.WaitNS = -1
		} else {
			f.WaitNS += wait
		}
	}
	return f
}
