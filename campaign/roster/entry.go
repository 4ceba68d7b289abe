package roster

import "opprof/engine/rundir"

// States of runs that no supervisor tells about.
const (
	Live     = "live"     // its records are being written
	Finished = "finished" // every engine has written its footer
	CutOff   = "cut off"  // an engine has no footer: it was killed, or its end is not written
	Broken   = "broken"   // no step could be read
)

// Roster is what is known of a folder's runs at one moment. It is immutable.
type Roster struct {
	Schema  int     `json:"schema"`
	Root    string  `json:"root"`
	Runs    []Entry `json:"runs"`    // the run begun last first
	Read    int     `json:"read"`    // runs whose figures are known
	Problem string  `json:"problem"` // why the folder could not be listed; "" when it could
	Version uint64  `json:"-"`
}

// Entry is one run. Figures are null while they are not known.
type Entry struct {
	ID       string   `json:"id"`
	Path     string   `json:"path"`
	Campaign string   `json:"campaign"` // name of its campaign's folder, "" for none
	State    string   `json:"state"`    // as of status; live, finished, cut off or broken for a run that opprof did not launch; "" while not known
	Reason   string   `json:"reason"`
	Live     bool     `json:"live"`
	Verdict  string   `json:"verdict"`  // of a campaign's run as its runner judged it; else whole, incomplete or broken by its records; "" while it cannot be said
	Problems []string `json:"problems"` // what could not be read, in sentences
	Pending  bool     `json:"pending"`  // the figures are still being read
	Figures
}

// Figures are what a run's files say. They are kept in the cache.
type Figures struct {
	Model         string   `json:"model"` // "" unknown
	VLLM          string   `json:"vllm_version"`
	GraphMode     string   `json:"cudagraph_mode"`
	GPU           string   `json:"gpu"` // "" unknown
	TP            *int64   `json:"tp"`
	DP            *int64   `json:"dp"`
	Engines       int64    `json:"engines"`
	Bytes         int64    `json:"bytes"`    // of its Layer-1 streams on disk
	FirstNS       *int64   `json:"first_ns"` // completion of the first step
	LastNS        *int64   `json:"last_ns"`
	DurationNS    *int64   `json:"duration_ns"` // from the first step's completion to the last one's
	Steps         *int64   `json:"steps"`
	PrefillTokens *int64   `json:"prefill_tokens"`
	DecodeTokens  *int64   `json:"decode_tokens"` // those computed again after a preemption left out where the recorder tells
	P50NS         *int64   `json:"p50_ns"`        // of the step period
	P95NS         *int64   `json:"p95_ns"`
	ErrorPct      float64  `json:"error_pct"` // largest relative error of the percentiles as such
	Dropped       *int64   `json:"dropped"`
	Gaps          *int64   `json:"gaps"`
	BadLines      *int64   `json:"bad_lines"`
	Windows       *int64   `json:"windows"` // profiler windows
	Sampled       bool     `json:"sampled"` // sums and percentiles are estimates from samples of a long stream
	Ended         bool     `json:"ended"`   // every engine has written its footer
	Unread        []string `json:"unread"`  // streams that could not be read, and why
}

// Standing is how a run stands by what watches it.
type Standing struct {
	State, Reason string // "" where nothing watches it
	Live          bool   // its files are still written
	Verdict, Why  string // of a campaign's run, as its runner judged it; "" where none did
}

// newEntry is a run before its figures are known.
func newEntry(l *rundir.Listed) Entry {
	e := Entry{ID: l.ID, Path: l.Path, Campaign: l.Campaign, Problems: append([]string{}, l.Problems...), Pending: true}
	e.manifest(l.Manifest)
	return e
}

// manifest takes what the manifest tells.
func (f *Figures) manifest(m *rundir.Manifest) {
	if m == nil {
		return
	}
	f.Model, f.VLLM = m.Model.Name, m.Versions["vllm"]
	if n := int64(len(m.Windows)); n > 0 {
		f.Windows = &n
	}
	if m.Parallel.TP > 0 {
		f.TP = &m.Parallel.TP
	}
	if m.Parallel.DP > 0 {
		f.DP = &m.Parallel.DP
	}
	if len(m.GPUs) > 0 {
		f.GPU = m.GPUs[0].Name
	}
}

// complete puts figures and standing together.
func (e *Entry) complete(f *Figures, s Standing) {
	e.Figures, e.Pending = *f, false
	e.Problems = append(e.Problems, f.Unread...)
	e.State, e.Reason, e.Live = s.State, s.Reason, s.Live
	steps := f.Steps != nil && *f.Steps > 0
	switch {
	case e.State != "":
	case s.Live && !f.Ended && (steps || len(e.Problems) == 0):
		e.State = Live
	case !steps:
		e.State = Broken
		if len(e.Problems) == 0 {
			e.Problems = append(e.Problems, "no step could be read")
		}
	case f.Ended:
		e.State = Finished
	default:
		e.State = CutOff
	}
	e.Live = e.Live && (s.State != "" || e.State == Live)
	if e.Verdict = s.Verdict; e.Verdict == "" {
		e.Verdict = e.judge()
	}
	if s.Why != "" {
		e.Problems = append(e.Problems, s.Why)
	}
}

// Verdicts by the records of a run that has ended.
const (
	Whole      = "whole"      // every record is there, up to the footer
	Incomplete = "incomplete" // records were dropped, are missing or cannot be read
)

func (e *Entry) judge() string {
	switch {
	case (e.Steps == nil || *e.Steps == 0) && (e.Live || e.recordless()):
		return ""
	case e.Steps == nil || *e.Steps == 0:
		return Broken
	case e.Live || e.Dropped == nil || e.Gaps == nil || e.BadLines == nil:
		return ""
	case !e.Ended, *e.Dropped > 0, *e.Gaps > 0, *e.BadLines > 0, len(e.Unread) > 0:
		return Incomplete
	}
	return Whole
}

// recordless reports whether the run has no records and was not to have any that could be told of: a server that was launched with its recorder
// off, or that never became ready.
func (e *Entry) recordless() bool { return e.State != Broken && e.Bytes == 0 && len(e.Unread) == 0 }

// Tokens are all tokens of the run; nil when they are not known.
func (f *Figures) Tokens() *int64 {
	if f.PrefillTokens == nil || f.DecodeTokens == nil {
		return nil
	}
	n := *f.PrefillTokens + *f.DecodeTokens
	return &n
}
