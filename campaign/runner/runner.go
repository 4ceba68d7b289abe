package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"opprof/campaign/gate"
	"opprof/campaign/plan"
	"opprof/campaign/progress"
	"opprof/campaign/report"
	"opprof/engine/journal"
	"opprof/engine/rundir"
	"opprof/engine/serverconf"
	"opprof/engine/supervisor/process"
)

// Config says which campaign to carry out, and with what.
type Config struct {
	Dir     string
	Until   time.Time // no run is begun that would not end by then; zero is no limit
	Settle  bool      // only end what an earlier runner left, and pause
	Servers Servers
	Loads   Loads
	Host    Host
	Clock   journal.Clock
	Version string // of opprof

	appended func(event string) // a test's look at every event that is on disk
	failing  func() error       // a test's full disk
}

// ErrRunning says that another runner works on the campaign.
var ErrRunning = errors.New("another runner works on this campaign")

// maxInARow is how many pairs may fail to count one after the other before going on is pointless.
const maxInARow = 3

// stopLimit bounds how long the end of an interrupted run may take.
const stopLimit = 10 * time.Minute

// Run works on a campaign until every run has ended, Until comes, going on is pointless, or ctx ends, which is an order to stop in order. Any
// error leaves a campaign that another runner can go on with.
func Run(ctx context.Context, c Config) (err error) {
	j, found, err := journal.Open(filepath.Join(c.Dir, rundir.JournalName), c.Clock)
	if errors.Is(err, journal.ErrLocked) {
		return fmt.Errorf("%s: %w", c.Dir, ErrRunning)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	r := &runner{Config: c, journal: j, history: newHistory()}
	return r.work(ctx, found)
}

// runner is the one writer of a campaign's journal.
type runner struct {
	Config
	journal *journal.Journal
	history *history
	plan    *plan.Plan
}

func (r *runner) work(ctx context.Context, found *journal.Replay) error {
	if err := r.history.replay(r.Dir, found); err != nil {
		return err
	}
	var err error
	if r.plan, err = readPlan(r.Dir, r.history.created.Plan); err != nil {
		return err
	}
	if r.history.closed != nil {
		return nil
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	if r.Settle {
		return r.append(eventPaused, pausedEvent{Reason: "stopped by an order"})
	}
	for {
		over, err := r.step(ctx)
		var refused refusal
		switch {
		case errors.As(err, &refused):
			return r.append(eventPaused, pausedEvent{refused.Error(), true})
		case err != nil || over:
			return err
		case ctx.Err() != nil:
			return r.append(eventPaused, pausedEvent{Reason: "stopped by an order"})
		}
	}
}

// refusal says why going on is pointless until somebody has done something about it.
type refusal struct{ error }

// append writes an event and takes it into the history.
func (r *runner) append(event string, payload any) error {
	if r.failing != nil {
		if err := r.failing(); err != nil {
			return err
		}
	}
	e, err := r.journal.Append(event, payload)
	if err != nil {
		return err
	}
	if r.appended != nil {
		r.appended(event)
	}
	return r.history.apply(e)
}

// begin says who works now, and ends what the runner before left: its load, its server, and every pair that it had not finished.
func (r *runner) begin(ctx context.Context) error {
	id, err := process.Identify(os.Getpid(), journal.BootID())
	if err != nil {
		return err
	}
	e := runnerEvent{PID: id.PID, StartTime: id.StartTime, Version: r.Version, Machine: r.Host.Look(ctx, r.plan.Server)}
	if !r.Until.IsZero() {
		ns := r.Until.UnixNano()
		e.UntilNS = &ns
	}
	if err := r.append(eventRunner, e); err != nil {
		return err
	}
	run, a := r.history.open()
	if a == nil {
		return nil
	}
	return r.drop(ctx, run, a, "its runner was killed")
}

// drop ends what is left of a run that was interrupted.
func (r *runner) drop(ctx context.Context, run string, a *attempt, why string) error {
	if a.load != nil {
		r.Loads.Kill(*a.load)
	}
	if err := r.stop(ctx, a.dir); err != nil {
		return err
	}
	return r.append(eventDropped, droppedEvent{run, a.dir, why})
}

// stop ends the server of a run, also when ctx has ended.
func (r *runner) stop(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	if _, err := r.Servers.Stop(ctx, r.path(dir)); err != nil {
		return fmt.Errorf("cannot end the server of run %s: %w", dir, err)
	}
	return nil
}

func (r *runner) path(dir string) string { return filepath.Join(r.Dir, RunsName, dir) }

// step does the next thing. over says that the campaign has come to its end, or to that of its time.
func (r *runner) step(ctx context.Context) (over bool, err error) {
	s := next(r.plan, r.history)
	switch {
	case s.end:
		return r.end()
	case s.judge != nil:
		return false, r.judge(*s.judge)
	case s.again != nil:
		return false, r.append(eventPairVoid, pairEvent{s.again.cell, s.again.pair, r.history.interruption(r.plan, *s.again), true})
	}
	if len(s.unit) > 0 {
		if why, ok := r.fits(s.unit); !ok {
			return true, r.append(eventPaused, pausedEvent{Reason: why})
		}
	}
	return false, r.perform(ctx, *s.run)
}

// fits reports whether runs that follow without a break would end in time, and if not, why.
func (r *runner) fits(unit []plan.Run) (why string, ok bool) {
	if r.Until.IsZero() {
		return "", true
	}
	takes := r.history.estimate(r.plan, unit)
	left := r.Until.Sub(time.Unix(0, r.Clock.WallNS()))
	if takes <= left {
		return "", true
	}
	return fmt.Sprintf("the time is used up: %s takes about %s and %s are left", unitName(unit), takes.Round(time.Second), max(left, 0).Round(time.Second)), false
}

func unitName(unit []plan.Run) string {
	if unit[0].Kind == plan.Measured {
		return fmt.Sprintf("pair %d of %s", unit[0].Pair, unit[0].Cell)
	}
	return "run " + unit[0].ID()
}

// perform makes one run, from its server's start to the rest after it.
func (r *runner) perform(ctx context.Context, run plan.Run) error {
	number, dir := r.history.attempt(run)
	server := r.plan.Config(run)
	if err := r.rest(ctx); err != nil {
		return err
	}
	if err := r.clearance(ctx, server, r.path(dir)); err != nil || ctx.Err() != nil {
		return err
	}
	err := r.append(eventStarted, startedEvent{Run: run.ID(), Dir: dir, Attempt: number, Kind: run.Kind, Cell: run.Cell.String(), Arm: run.Arm, Pair: run.Pair, Order: run.Order})
	if err != nil {
		return err
	}
	m := &measurement{runner: r, run: run, server: server, dir: r.path(dir), outcome: Outcome{Void: []string{}, Remarks: []string{}, Metrics: map[string]float64{},
		Checks: []report.Check{}, Backends: []string{}, After: []Device{}}}
	if err := m.do(ctx); err != nil { // the journal cannot be written: nobody would know of the server
		return errors.Join(err, r.stop(ctx, dir))
	}
	if ctx.Err() != nil {
		return r.drop(ctx, run.ID(), r.history.last(run.ID()), "stopped by an order")
	}
	if err := r.append(eventDone, doneEvent{run.ID(), dir, m.outcome}); err != nil {
		return err
	}
	if run.Kind == plan.WarmUp && len(m.outcome.Void) > 0 {
		return refusal{fmt.Errorf("warm-up run %s: %s", run.ID(), m.outcome.Void[0])}
	}
	return nil
}

// rest waits until the run before has ended for as long as the plan says.
func (r *runner) rest(ctx context.Context) error {
	run, endedNS := r.history.newest()
	cooldown := time.Duration(r.plan.Campaign.Cooldown)
	pause := min(cooldown, time.Duration(endedNS-r.Clock.WallNS())+cooldown)
	if run == "" || pause <= 0 {
		return nil
	}
	if err := r.append(eventState, stateEvent{Run: run, State: progress.Cooling}); err != nil {
		return err
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
	return nil
}

// clearanceLimit is how long ports and devices may take to be free again after the run before.
const (
	clearanceLimit = time.Minute
	clearanceEvery = 5 * time.Second
)

// clearance waits until nothing stands against a server, or says what does.
func (r *runner) clearance(ctx context.Context, s serverconf.Server, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, clearanceLimit)
	defer cancel()
	for {
		m := r.Host.Look(ctx, s)
		problems := append(r.Servers.Check(ctx, s, dir), r.Host.Strangers(ctx, m, nil)...)
		if len(problems) == 0 {
			return nil
		}
		t := time.NewTimer(clearanceEvery)
		select {
		case <-t.C:
			continue
		case <-ctx.Done():
			t.Stop()
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return refusal{errors.New(problems[0])}
		}
		return nil // an order to stop: the caller sees it
	}
}

// judge says whether a pair counts.
func (r *runner) judge(key pairKey) error {
	why, err := verdictOf(r.Dir, r.plan, r.history, key)
	if err != nil {
		return err
	}
	if why == "" {
		return r.append(eventPairDone, pairEvent{Cell: key.cell, Pair: key.pair})
	}
	if err := r.append(eventPairVoid, pairEvent{Cell: key.cell, Pair: key.pair, Reason: why}); err != nil {
		return err
	}
	if r.history.inARow >= maxInARow {
		return refusal{fmt.Errorf("%d pairs one after the other do not count, the last because of: %s", maxInARow, why)}
	}
	return nil
}

// end takes the declared second look if the first is undecided, and closes the campaign otherwise.
func (r *runner) end() (over bool, err error) {
	rep, err := r.report()
	if err != nil {
		return false, err
	}
	if r.history.look == nil && r.plan.Campaign.SecondLookPairs > 0 && rep.Verdict == gate.Undecided {
		var cells []string
		for i := range rep.Cells {
			if rep.Cells[i].Decision.Verdict == gate.Undecided {
				cells = append(cells, rep.Cells[i].Name)
			}
		}
		return false, r.append(eventLook, lookEvent{cells})
	}
	if err := WriteReport(r.Dir, rep); err != nil {
		return false, err
	}
	return true, r.append(eventClosed, closedEvent{rep.Verdict})
}
