package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"opprof/cmd/session"
	"opprof/engine/alert"
	"opprof/engine/notes"
	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/tui"
	"opprof/tui/theme"
)

// screenOptions are the flags of every command that opens a screen.
type screenOptions struct {
	once        bool
	json        bool
	engine      string
	span        time.Duration
	columns     int
	step        int64
	preferences *preferenceFlags
	from        origin // of the preferences in force
	control     *held  // the run's supervisor; nil when it has none
	readOnly    bool   // of a campaign's screen: it gives no orders
	launched    bool   // the screen tells of the start first, whatever page was left the last time
}

const (
	defaultColumns = 60
	maxColumns     = 10_000
	liveSpan       = 60 * time.Second
)

const screenHelp = `Without a terminal, or with --once, it prints a summary and ends. --once --json prints the same values as one JSON object.`

// bind adds the flags. A screen of a live run shows the last minute, one of a finished run all of it.
func (o *screenOptions) bind(c *cobra.Command, span time.Duration) {
	flags := c.Flags()
	flags.BoolVar(&o.once, "once", false, "print a summary instead of opening the screen")
	flags.BoolVar(&o.json, "json", false, "with --once: print one JSON object")
	flags.StringVar(&o.engine, "engine", "", "with --once: only this engine (default all, merged)")
	flags.DurationVar(&o.span, "span", span, "with --once: time that the columns cover; 0 is the whole run")
	flags.IntVar(&o.columns, "columns", defaultColumns, "with --once: at most so many columns")
	flags.Int64Var(&o.step, "step", 0, "with --once: end with this step; 0 is the newest")
	o.preferences = bindPreferences(flags)
}

// resolve checks the flags before anything is opened.
func (o *screenOptions) resolve(env *Env) (*preferences, error) {
	switch {
	case o.columns < 1 || o.columns > maxColumns:
		return nil, usageErrorf("--columns: want 1 to %d, got %d", maxColumns, o.columns)
	case o.span < 0:
		return nil, usageErrorf("--span: want a duration, 0 or more, got %s", o.span)
	case o.step < 0:
		return nil, usageErrorf("--step: want a step index, got %d", o.step)
	}
	p, from, err := o.preferences.resolve(env)
	o.from = from
	return p, err
}

// plain reports whether a summary is to be printed instead of a screen.
func (o *screenOptions) plain(env *Env) bool { return o.once || o.json || !env.interactive() }

// show opens the screen on a session, or prints its summary.
func (o *screenOptions) show(ctx context.Context, env *Env, p *preferences, s *session.Session) error {
	if o.plain(env) {
		return o.print(ctx, env, p, s)
	}
	return o.open(ctx, env, p, s)
}

// page is what --once --json prints.
type page struct {
	Schema   int64              `json:"schema"`
	Run      rundir.Description `json:"run"`
	Frame    *store.Frame       `json:"frame"`
	Warnings []alert.Warning    `json:"warnings"` // of the whole run, the active ones first
	Notes    []notes.Note       `json:"notes"`    // bookmarks and notes of readers
}

// newPage makes a page whose lists are lists, also where they are empty.
func newPage(run rundir.Description, frame *store.Frame, warnings []alert.Warning, kept []notes.Note) page {
	f := *frame
	f.Engines, f.Columns, f.Windows = list(f.Engines), list(f.Columns), list(f.Windows)
	run.Streams, run.Traces, run.Problems = list(run.Streams), list(run.Traces), list(run.Problems)
	return page{Schema: 1, Run: run, Frame: &f, Warnings: list(warnings), Notes: list(kept)}
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func (o *screenOptions) print(ctx context.Context, env *Env, p *preferences, s *session.Session) error {
	if err := s.Wait(ctx); err != nil {
		return err
	}
	frame, err := o.frame(ctx, s)
	if err != nil {
		return err
	}
	run := s.Run()
	if run.Kind == session.KindLive && ended(frame) {
		run.Kind, frame.Live = session.KindFinished, false
	}
	if run.AsOfNS != 0 {
		run.Kind = session.KindLive
	}
	kept, err := s.Notes(ctx)
	if err != nil {
		env.note(err)
	}
	if o.json {
		err = printJSON(env.Stdout, newPage(run, frame, s.Warnings(), kept.Notes))
	} else {
		page := &summary{run: run, frame: frame, warnings: s.Warnings(), notes: kept.Notes, shown: &frame.Now, zone: p.location()}
		if o.step == 0 && run.Kind == session.KindFinished {
			if page.shown, page.quiet, err = o.lastWork(ctx, s, frame); err != nil {
				return err
			}
		}
		err = page.write(env.Stdout)
	}
	if err == nil && run.Kind == session.KindFinished && frame.Run.Counts.Steps == 0 && len(run.Traces) == 0 {
		return WithHint(fmt.Errorf("%s holds no step that could be read", run.Path), "opprof check "+run.Path+" says why")
	}
	return err
}

// ended reports whether every engine has written its footer: such a run grows no more.
func ended(f *store.Frame) bool {
	return len(f.Engines) > 0 && !slices.ContainsFunc(f.Engines, func(e store.Engine) bool { return e.Footer == nil })
}

// lastWork is the newest step that ran the model: a server that is shut down ends with steps that hold nothing. quiet counts those behind it;
// where there are too many of them the newest step stands for itself.
func (o *screenOptions) lastWork(ctx context.Context, s *session.Session, f *store.Frame) (now *store.Instant, quiet int64, err error) {
	const most = 64
	now = &f.Now
	for ; now.Known && now.PrefillTokens+now.DecodeTokens == 0; quiet++ {
		if quiet == most {
			return &f.Now, 0, nil
		}
		before, err := s.Frame(ctx, store.Query{Engine: o.engine, AtNS: now.TimeNS - 1, SpanNS: 1, Columns: 1})
		if err != nil {
			return nil, 0, err
		}
		now = &before.Now
	}
	if !now.Known {
		return &f.Now, 0, nil
	}
	return now, quiet, nil
}

func (o *screenOptions) frame(ctx context.Context, s *session.Session) (*store.Frame, error) {
	q := store.Query{Engine: o.engine, SpanNS: int64(o.span), Columns: o.columns}
	found := o.step <= 0
	if !found {
		var err error
		if q.AtNS, found, err = s.AtStep(ctx, o.engine, o.step); err != nil {
			return nil, err
		}
	}
	frame, err := s.Frame(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case o.engine != "" && !hasEngine(frame, o.engine):
		return nil, usageErrorf("--engine: the run has no engine %q; it has %s", o.engine, engineNames(frame))
	case !found:
		return nil, usageErrorf("--step: the run has no step %d", o.step)
	}
	return frame, nil
}

func hasEngine(f *store.Frame, id string) bool {
	for i := range f.Engines {
		if f.Engines[i].ID == id {
			return true
		}
	}
	return false
}

func engineNames(f *store.Frame) string {
	names := "none"
	for i := range f.Engines {
		if i == 0 {
			names = f.Engines[i].ID
			continue
		}
		names += ", " + f.Engines[i].ID
	}
	return names
}

func syncOutput(p *preferences) tui.SyncOutput {
	switch p.syncOutput {
	case "on":
		return tui.SyncOn
	case "off":
		return tui.SyncOff
	}
	return tui.SyncAuto
}

// open shows the screen until the reader quits. A signal ends it too, with the terminal put back. What was seen stays on the terminal.
func (o *screenOptions) open(ctx context.Context, env *Env, p *preferences, s *session.Session) error {
	file, log := openLog(env, p)
	defer file.close()
	log.Info("opprof", "version", buildVersion(), "run", s.Run().Path, "kind", s.Run().Kind)
	err := runScreen(ctx, env, p, o, log, s)
	closed := s.Close()
	if closed != nil {
		log.Error("reading ended", "error", closed)
	}
	if ctx.Err() != nil {
		log.Info("told to end", "cause", context.Cause(ctx))
		return ctx.Err()
	}
	return errors.Join(file.tell(err), file.tell(closed))
}

func runScreen(ctx context.Context, env *Env, p *preferences, o *screenOptions, log *slog.Logger, s *session.Session) error {
	options := o.options(env, p, log)
	if o.launched {
		options.State.Page = ""
	}
	if o.control != nil {
		options.Control, options.ReadOnly = o.control, o.control.readOnly
	}
	begin := env.Now()
	options.Farewell = func() string {
		text, err := farewell(s, env.Now().Sub(begin))
		if err != nil {
			log.Warn("no summary", "error", err)
		}
		return text
	}
	return screenEnded(tui.Run(ctx, s, options), log)
}

// options are those of every screen.
func (o *screenOptions) options(env *Env, p *preferences, log *slog.Logger) tui.Options {
	path := env.statePath()
	state, note := loadState(path)
	if note != nil {
		log.Warn("starting as at first", "error", note)
	}
	return tui.Options{
		Theme:   theme.Prefs{Theme: p.theme, Color: p.color, Glyphs: p.glyphs},
		Env:     env.Getenv,
		Zone:    p.location(),
		Sync:    syncOutput(p),
		Every:   p.tick,
		Now:     env.Now,
		Log:     log,
		Note:    noteOf(note),
		NoMouse: p.mouse == off,
		State:   prefer(state, p, o.from),
		Keep: func(s tui.State) {
			if err := saveState(path, s); err != nil {
				log.Warn("choices are not kept", "error", err)
			}
		},
	}
}

// screenEnded is why a screen has ended, with the exit code.
func screenEnded(err error, log *slog.Logger) error {
	switch {
	case errors.Is(err, tui.ErrLost):
		return WithCode(err, ExitInterrupted)
	case errors.Is(err, tui.ErrStalled): // a terminal that takes nothing takes no message either
		log.Warn("left by force", "error", err)
		return errors.Join(errSilent, WithCode(err, ExitFailure))
	}
	return err
}

func noteOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
