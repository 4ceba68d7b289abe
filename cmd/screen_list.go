package cmd

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"opprof/campaign/runner"
	"opprof/cmd/session"
	"opprof/engine/supervisor"
	"opprof/tui"
)

// openList shows a screen about several runs until the reader quits; a run that is chosen there is opened above it. What the source says as its
// farewell, if it does, stays on the terminal.
func openList(ctx context.Context, env *Env, o *screenOptions, source tui.Source, readOnly bool) error {
	p, err := o.resolve(env)
	if err != nil {
		return err
	}
	file, log := openLog(env, p)
	defer file.close()
	log.Info("opprof", "version", buildVersion(), "list", source.Run().Path)
	options := o.options(env, p, log)
	options.ReadOnly, options.Open = readOnly, opener(env, p, readOnly)
	if s, ok := source.(interface{ farewell() string }); ok {
		options.Farewell = s.farewell
	}
	err = screenEnded(tui.Run(ctx, source, options), log)
	if ctx.Err() != nil {
		log.Info("told to end", "cause", context.Cause(ctx))
		return ctx.Err()
	}
	return file.tell(err)
}

// opener opens campaigns and runs by their folder. A run that is supervised is controlled from its screen, unless it is only to be watched, as
// every run of a campaign is: what it measures is not disturbed. One whose supervisor was killed is watched, not taken over.
func opener(env *Env, p *preferences, readOnly bool) tui.Opener {
	return func(ctx context.Context, path string) (*tui.Screen, error) {
		if runner.Is(path) {
			source, err := campaignAt(env, path, readOnly)
			return &tui.Screen{Source: source, ReadOnly: readOnly, Close: func() error { return nil }}, err
		}
		run, err := env.openRun(path)
		if err != nil {
			return nil, err
		}
		dir := absolutePath(run.Root)
		readOnly := readOnly || runner.Is(filepath.Dir(filepath.Dir(dir)))
		kind := env.kindOf(dir)
		s := session.Open(ctx, run, session.Options{Kind: kind, Now: env.Now, IndexDir: env.indexDir(), NotesDir: env.notesDir(), Limits: &p.limits, Beside: runsBeside(run.Root, kind)})
		screen := &tui.Screen{Source: s, ReadOnly: readOnly, Close: s.Close}
		if kind == session.KindFinished {
			return screen, nil
		}
		screen.Page = kind // a server that runs is looked at as it runs
		if client := reach(ctx, dir, readOnly); client != nil {
			screen.Control, screen.Close = heldScreen(ctx, s, newHeld(dir, client, readOnly))
		}
		return screen, nil
	}
}

// heldScreen holds a supervised run until the returned function closes its session.
func heldScreen(ctx context.Context, s *session.Session, run *held) (tui.Controller, func() error) {
	holding, letGo := context.WithCancel(ctx)
	var holds sync.WaitGroup
	holds.Go(func() { run.hold(holding) })
	return run, func() error {
		letGo()
		err := s.Close()
		holds.Wait()
		run.close()
		return err
	}
}

// writtenLately is how long after its last write a run without a supervisor still counts as live.
const writtenLately = time.Minute

// running reports whether the server of a run is known to run: one that opprof has launched or watches now.
func (e *Env) running(dir string) bool {
	stand, err := supervisor.Stand(e.homeOf(absolutePath(dir)))
	return err == nil && (stand.Supervised || stand.Open && stand.Status.Server.PID > 0)
}

// kindOf is whether a run is followed or read: a supervised one until its journal says that it is over, another one while it is written.
func (e *Env) kindOf(dir string) string {
	stand, err := supervisor.Stand(dir)
	switch {
	case err == nil && (stand.Open || stand.Watched), errors.Is(err, supervisor.ErrNoJournal) && e.Now().Sub(touched(dir)) < writtenLately:
		return session.KindLive
	}
	return session.KindFinished
}
