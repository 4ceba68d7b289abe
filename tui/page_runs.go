package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"opprof/campaign/compare"
	"opprof/campaign/roster"
	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

// runsPage lists the runs of a folder, and sets two of them against each other.
type runsPage struct {
	raised

	ctx    context.Context
	source RunsSource
	zone   *time.Location

	width, height int
	roster        *roster.Roster // nil before the first word
	view          roster.View
	rows          []roster.Entry // as they are shown
	selected      string         // path of the run under the cursor
	marked        []string       // paths, a first
	top           int
	list          chart.Rect // of the rows, at the last drawing

	comparing *comparing // nil while the list is shown
}

// comparing is a comparison that is computed or shown.
type comparing struct {
	a, b   string // names
	cancel context.CancelFunc
	done   *compare.Comparison // nil until it is there
	shown  *panel.Comparison
	err    error
	top    int
	total  int // lines at the last drawing
	rows   int // visible ones
}

func newRunsPage(ctx context.Context, source RunsSource, opt Options) *runsPage {
	return &runsPage{ctx: ctx, source: source, zone: opt.Zone, view: source.View()}
}

func (p *runsPage) name() string             { return "runs" }
func (p *runsPage) resize(width, height int) { p.width, p.height = width, height }
func (p *runsPage) want() want               { return want{runs: true} }

func (p *runsPage) take(_ want, pic picture) {
	if pic.runs == nil || p.roster != nil && p.roster.Version == pic.runs.Version && len(p.roster.Runs) == len(pic.runs.Runs) {
		return
	}
	p.roster = pic.runs
	p.arrange()
	p.marked = slices.DeleteFunc(p.marked, func(path string) bool { return p.entry(path) == nil })
}

// keys are those of the list, or of a text that scrolls.
func (p *runsPage) keys() keys.Context {
	if p.comparing != nil {
		return keys.ContextText
	}
	return keys.ContextRuns
}

// arrange computes the rows anew. The selected run stays selected wherever it goes; when it is gone, what is at its place is.
func (p *runsPage) arrange() {
	if p.roster == nil {
		return
	}
	at := p.at()
	p.rows = p.view.Rows(p.roster)
	if p.at() < 0 && len(p.rows) > 0 {
		p.selected = p.rows[max(0, min(at, len(p.rows)-1))].Path
	}
}

// at is the row of the selected run; -1 for none.
func (p *runsPage) at() int {
	return slices.IndexFunc(p.rows, func(e roster.Entry) bool { return e.Path == p.selected })
}

// entry is a run of the roster, shown or not; nil when it is gone.
func (p *runsPage) entry(path string) *roster.Entry {
	for i := range p.roster.Runs {
		if p.roster.Runs[i].Path == path {
			return &p.roster.Runs[i]
		}
	}
	return nil
}

var errNoRunsAxis = errors.New("the list of runs has no time axis")

func (p *runsPage) seek(string) (tea.Cmd, error) { return nil, errNoRunsAxis }

func (p *runsPage) needs() keys.Need { return 0 }

func (p *runsPage) position() panel.Position { return panel.Position{} }

func (p *runsPage) explain() (string, []panel.Definition) {
	if p.comparing != nil {
		return "explain: comparison", panel.ComparisonDefinitions()
	}
	return "explain: runs", panel.RunsDefinitions()
}

// copied is the list or the comparison as text, whole.
func (p *runsPage) copied() []string {
	if p.roster == nil {
		return nil
	}
	g := chart.NewGrid(200, 2000, theme.UnicodeGlyphs())
	if c := p.comparing; c == nil {
		panel.RunsTable(&g.Glyphs, p.view, p.rows, p.marked, p.zone).Draw(g)
	} else if c.shown != nil {
		c.shown.Draw(g, 0)
	}
	return strings.Split(strings.TrimRight(g.Plain(), " \n"), "\n")
}
