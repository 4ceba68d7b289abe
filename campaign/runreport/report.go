package runreport

import (
	"io"
	"time"

	"opprof/campaign/page"
	"opprof/engine/alert"
	"opprof/engine/notes"
	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/traces/capture"
	"opprof/traces/catalog"
	"opprof/traces/join"
	"opprof/traces/rank"
)

// Report is what is known of a run, as its JSON has it.
type Report struct {
	Schema    int64              `json:"schema"`
	Run       rundir.Description `json:"run"`
	Manifest  *rundir.Manifest   `json:"manifest"` // null when there is none
	Frame     *store.Frame       `json:"frame"`    // columns over the whole run
	Warnings  []alert.Warning    `json:"warnings"`
	Notes     []notes.Note       `json:"notes"` // of those who looked at the run
	Windows   []TracedWindow     `json:"windows"`
	Checks    []StreamCheck      `json:"checks"`    // of each stream
	Unchecked string             `json:"unchecked"` // why the records were not checked; "" when they were

	// Definitions say what the figures mean, and Zone is that of all times of day. Both are for readers.
	Definitions []Definition   `json:"-"`
	Zone        *time.Location `json:"-"`
}

// TracedWindow is a profiler window with the breakdown of its traces.
type TracedWindow struct {
	Number    int                   `json:"number"` // it was armed under, or by time where the run's folder does not tell; 0 for one that nobody armed
	Name      string                `json:"name"`   // the number; t1, t2 … by time for windows that nobody armed
	State     string                `json:"state"`
	Reason    string                `json:"reason"`     // why it is not verified; "" when nothing is to be said
	StartNS   int64                 `json:"start_ns"`   // since 1970; 0 unknown
	FirstStep int64                 `json:"first_step"` // labelled; without traces, behind the start marker; 0 unknown
	LastStep  int64                 `json:"last_step"`  // 0 unknown
	StallNS   *int64                `json:"stall_ns"`   // by how much the export of its traces held the step behind the last labelled one up, or the call that stopped the profiler; null unknown
	Ranks     int                   `json:"ranks"`      // files that were read
	Expected  int                   `json:"expected"`   // ranks of the engine; 0 unknown
	Detail    *capture.WindowReport `json:"detail"`     // null when its traces were not read
}

// StreamCheck is what was found in one stream.
type StreamCheck struct {
	record.Check
	Error string `json:"error"` // why it could not be read to its end, or holds no step; "" when neither
}

// Definition says what a figure means.
type Definition struct {
	Part, Name, Unit, Source, Text string
}

// topKernels are listed of each rank.
const topKernels = 10

// Windows takes what a catalog knows of the windows of a run.
func Windows(list *catalog.List) []TracedWindow {
	out := []TracedWindow{}
	if list == nil {
		return out
	}
	for i := range list.Windows {
		w := &list.Windows[i]
		v := TracedWindow{Number: w.Number, Name: w.Name(), State: string(w.State), Reason: w.Reason, StartNS: w.TimeNS, FirstStep: w.FirstStep, LastStep: w.LastStep, StallNS: w.StallNS,
			Ranks: w.Ranks, Expected: w.Expected}
		if w.Detail != nil {
			c := capture.Capture{Windows: []join.Window{*w.Detail}, Names: []string{w.Name()}, Paths: map[*rank.Breakdown]string{}}
			for _, b := range w.Detail.Ranks {
				c.Paths[b] = b.File
			}
			v.Detail = &c.Report(topKernels).Windows[0]
		}
		out = append(out, v)
	}
	return out
}

// HTML writes the report as one file that asks nothing of the network.
func (r *Report) HTML(w io.Writer) error { return page.Document(r.document).HTML(w) }

// Markdown writes the same without the plots.
func (r *Report) Markdown(w io.Writer) error { return page.Document(r.document).Markdown(w) }

// document is the report as a page.
func (r *Report) document(plots bool) (*page.Page, error) {
	p := &page.Page{Title: r.title(), Quote: r.sentence()}
	add := func(title string, blocks ...page.Block) {
		p.Sections = append(p.Sections, page.Section{Title: title, Blocks: blocks})
	}
	if missing := r.missing(); len(missing) > 0 {
		add("Missing or damaged", page.List{Lines: missing})
	}
	add("Run", r.facts())
	if r.Frame.Run.Counts.Steps > 0 {
		over, err := r.overTime(plots)
		if err != nil {
			return nil, err
		}
		add("Over time", over...)
		add("Step period", r.period())
		add("Work", r.work())
		bins, err := r.histograms(plots)
		if err != nil {
			return nil, err
		}
		add("Histograms", bins...)
		add("CUDA graphs", r.graphs())
		add("Memory", r.memory())
		add("Queues", r.queues())
		add("Events", r.events(), r.warnings())
		add("Engines", r.engines())
	}
	if len(r.Notes) > 0 {
		add("Notes", r.notes())
	}
	if blocks := r.windows(); len(blocks) > 0 {
		add("Profiler windows", blocks...)
	}
	add("Checks", r.checks()...)
	add("Records", r.streams())
	if len(r.Definitions) > 0 {
		add("Definitions", page.Fold{Title: "what each figure means", Blocks: []page.Block{r.definitions()}})
	}
	return p, nil
}
