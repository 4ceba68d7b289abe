package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"opprof/campaign/calibrate"
	"opprof/campaign/progress"
	"opprof/campaign/roster"
	"opprof/engine/alert"
	"opprof/engine/meter"
	"opprof/engine/notes"
	"opprof/engine/rundir"
	"opprof/engine/serverlog"
	"opprof/engine/store"
	"opprof/engine/vllm"
	"opprof/traces/catalog"
	"opprof/traces/experts"
)

// want is what the screen needs to see: the picture of the visible page, the moment under its cursor, the whole run for a scrubber,
// and the newest state for the header. A nil query is not needed.
type want struct {
	main, cursor, overview, head *store.Query

	log    *serverlog.Query // needs a LogSource
	server bool             // the run's folder and metrics; needs a ServerSource

	windows *windowQuery // needs a WindowSource
	reading bool         // what the server says itself; needs a MetricsSource

	search *searchWant // needs a SearchSource
	notes  bool        // needs a NoteSource

	campaign bool // how a campaign stands; needs a CampaignSource
	runs     bool // a folder's runs; needs a RunsSource
	experts  bool // needs an ExpertSource
	cost     bool // needs a CostSource
}

// picture is the answer to a want, in one piece: its frames belong together.
type picture struct {
	main, cursor, overview, head *store.Frame
	run                          rundir.Description

	log      *serverlog.View
	logErr   error // why there is none; what the steps tell does not depend on it
	contents *rundir.Contents
	metrics  *vllm.Metrics
	reading  *meter.Reading

	windows    *catalog.List
	windowsErr error // why there is none

	found    *found // nil when it was not asked for
	notes    *notes.List
	notesErr error

	campaign   *progress.Campaign
	runs       *roster.Roster
	experts    *experts.List
	expertsErr error
	cost       *calibrate.Learned
	costErr    error

	warnings []alert.Warning // nil when the source does not judge
	more     bool            // the same question has a better answer at once: a search goes on
}

// pictureMsg brings a picture, or the reason why there is none.
type pictureMsg struct {
	picture
	err error
}

// feed pulls pictures from the source, one at a time. It belongs to the event loop; only the command it returns runs elsewhere.
type feed struct {
	source Source
	busy   bool
	again  bool      // something changed while a request was out
	sent   time.Time // of the request that is out
	last   time.Time // arrival of the newest picture
	err    error     // of the last answer; nil when it was a picture
}

// pull returns a command that fetches w; nil when nothing is wanted, or while a request is out: a slow source is not asked twice.
func (f *feed) pull(ctx context.Context, now time.Time, w want) tea.Cmd {
	if f.busy {
		f.again = true
		return nil
	}
	if w == (want{}) {
		return nil
	}
	f.busy, f.again, f.sent = true, false, now
	source := f.source
	return func() tea.Msg {
		p, err := fetch(ctx, source, w)
		return pictureMsg{p, err}
	}
}

// arrived takes note of an answer and reports whether another request is already wanted.
func (f *feed) arrived(now time.Time, err error) (again bool) {
	f.busy = false
	f.err = err
	if err == nil {
		f.last = now
	}
	return f.again
}

// ageNS is how old the picture is when that is worth saying: the source owes an answer for more than a second.
func (f *feed) ageNS(now time.Time) int64 {
	if !f.busy || now.Sub(f.sent) < time.Second {
		return 0
	}
	if f.last.IsZero() {
		return int64(now.Sub(f.sent))
	}
	return int64(now.Sub(f.last))
}

func fetch(ctx context.Context, source Source, w want) (picture, error) {
	p := picture{run: source.Run()}
	if from, ok := source.(AlertSource); ok {
		p.warnings = from.Warnings()
	}
	if from, ok := source.(StepSource); ok {
		if err := fetchSteps(ctx, from, w, &p); err != nil {
			return p, err
		}
	}
	return p, fetchServer(ctx, source, w, &p)
}

func fetchSteps(ctx context.Context, source StepSource, w want, p *picture) error {
	for _, part := range []struct {
		query *store.Query
		into  **store.Frame
	}{{w.main, &p.main}, {w.cursor, &p.cursor}, {w.overview, &p.overview}, {w.head, &p.head}} {
		if part.query == nil {
			continue
		}
		f, err := source.Frame(ctx, *part.query)
		if err != nil {
			return err
		}
		*part.into = f
	}
	return nil
}

// fetchServer asks for what does not come from the steps. What the source does not know is left out.
func fetchServer(ctx context.Context, source Source, w want, p *picture) error {
	if from, ok := source.(LogSource); ok && w.log != nil {
		p.log, p.logErr = from.Log(ctx, *w.log)
		p.more = p.log != nil && !p.log.Done
	}
	if from, ok := source.(WindowSource); ok && w.windows != nil {
		p.windows, p.windowsErr = from.Windows(ctx, w.windows.keys())
	}
	var err error
	if from, ok := source.(RunsSource); ok && w.runs {
		if p.runs, err = from.Runs(ctx); err != nil {
			return err
		}
	}
	if from, ok := source.(CampaignSource); ok && w.campaign {
		if p.campaign, err = from.Campaign(ctx); err != nil {
			return err
		}
	}
	if from, ok := source.(MetricsSource); ok && w.reading {
		var err error
		if p.reading, err = from.Reading(ctx); err != nil {
			return err
		}
	}
	fetchLearned(ctx, source, w, p)
	fetchReview(ctx, source, w, p)
	from, ok := source.(ServerSource)
	if !ok || !w.server {
		return nil
	}
	if p.contents, err = from.Contents(ctx); err != nil {
		return err
	}
	p.metrics, err = from.Metrics(ctx)
	return err
}
