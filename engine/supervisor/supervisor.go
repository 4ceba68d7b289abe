package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"opprof/engine/control"
	"opprof/engine/journal"
	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/vllm"
)

// Supervisor is one run's owner. Use Run.
type Supervisor struct {
	config  Config
	clock   steady
	client  *vllm.Client
	inbox   chan func()
	quit    chan struct{} // closed when the loop has ended
	ctx     context.Context
	mounted bool // the profile endpoints are
	work    sync.WaitGroup

	drainLog chan chan<- struct{} // asks for all that the log holds

	ledger  ledger
	server  server
	start   start
	engines engines
	health  health
	windows windows
	clients clients
	papers  papers
	view    view
}

// view is what the last judgement said.
type view struct {
	state   string
	sinceNS int64
	reason  string
	phase   string
	remarks []string
}

// ErrEnded says that a run is over: its journal is closed and nothing of it can be taken over.
var ErrEnded = errors.New("the run has ended")

// Run supervises a run from here to its end: it starts the server, or takes it over where the run's journal says that another supervisor
// has started it. It returns when the server and all its processes are gone and everything is written. The end of ctx is an order to stop
// the server. Errors say why the run could not be taken on: it is another supervisor's (journal.ErrLocked), or over (ErrEnded).
func Run(ctx context.Context, c Config) error {
	c = c.orDefault()
	j, found, err := journal.Open(filepath.Join(c.Dir, rundir.JournalName), c.Clock)
	if err != nil {
		return err
	}
	last, err := readPast(found)
	if err == nil && last.closed && c.Watched == nil {
		err = fmt.Errorf("%s: %w", c.Dir, ErrEnded)
	}
	if err != nil {
		return errors.Join(err, j.Close())
	}
	api, err := listen(c.Socket)
	if err != nil {
		return errors.Join(err, j.Close())
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Supervisor{config: c, clock: newSteady(c.Clock), client: vllm.NewClient(c.Address), inbox: make(chan func()), quit: make(chan struct{}),
		ctx: work, drainLog: make(chan chan<- struct{}), ledger: newLedger(j, found)}
	s.windows = newWindows(c.Window)
	s.mounted, s.clients.emptyNS = c.Profile, s.clock.now()
	s.engines.ranks = c.Window.Ranks
	s.start = newStart(s.clock.now())
	s.papers = papers{manifest: c.Manifest}
	s.view = view{state: control.Starting, sinceNS: s.clock.now()}
	s.clients.server = s.newAPI()
	served := make(chan struct{})
	go func() { defer close(served); s.serve(api) }()
	s.begin(last)
	s.loop(ctx)
	close(s.quit)
	cancel()
	<-served
	s.work.Wait()
	s.client.Close()
	s.server.release()
	return j.Close()
}

// post hands a closure to the loop. It reports false once the loop has ended.
func (s *Supervisor) post(f func()) bool {
	select {
	case s.inbox <- f:
		return true
	case <-s.quit:
		return false
	}
}

// do runs a job beside the loop and then, on the loop, what it returns. The job ends with its context.
func (s *Supervisor) do(job func(ctx context.Context) func()) {
	s.work.Go(func() {
		if then := job(s.ctx); then != nil {
			s.post(then)
		}
	})
}

func (s *Supervisor) loop(ctx context.Context) {
	ticker := time.NewTicker(s.config.Timing.Tick)
	defer ticker.Stop()
	told := ctx.Done()
	for !s.server.over || s.papers.pending() || !s.ledger.idle() {
		select {
		case f := <-s.inbox:
			f()
		case <-s.server.exited():
			s.serverExited()
		case <-told:
			told = nil
			s.stop("the supervisor was told to end")
		case <-ticker.C:
			s.tick()
		}
		s.settle()
	}
}

// tick lets time pass for everything that has a deadline.
func (s *Supervisor) tick() {
	now := s.clock.now()
	s.carryOut(s.windows.controller.Tick(now))
	s.lookForTraces(now)
	if s.clients.hungUp(now, s.config.Timing.Hangup) && s.config.OnHangup == HangupStop {
		s.stop(fmt.Sprintf("the last client has been gone for %s", s.config.Timing.Hangup))
	}
	s.endWatch(now)
	if t := s.config.StartTimeout; t > 0 && !s.health.ready && s.server.running() && now-s.server.spawnNS > int64(t) {
		s.server.failure = fmt.Sprintf("the server was not ready within %s; it was %s", t, s.start.phase.Name)
		s.stop(s.server.failure)
	}
}

// settle is done after every turn of the loop: the state is judged, the stop order goes on, what is to be written is handed to a writer.
func (s *Supervisor) settle() {
	s.advance()
	s.judge()
	if batch := s.ledger.take(); batch != nil {
		j := s.ledger.journal
		s.do(func(context.Context) func() {
			out := write(j, batch)
			return func() { s.ledger.settle(batch, out) }
		})
	}
	s.writeManifest()
}

// record adds an event to the journal.
func (s *Supervisor) record(event string, payload any) { s.ledger.add(event, payload, nil) }

// remark keeps something that whoever looks at the run should know.
func (s *Supervisor) remark(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, r := range s.view.remarks {
		if r == text {
			return
		}
	}
	const most = 50
	if len(s.view.remarks) < most {
		s.view.remarks = append(s.view.remarks, text)
	}
}

func (s *Supervisor) facts() facts {
	now := s.clock.now()
	if s.config.Watched != nil {
		return s.watchedFacts(now)
	}
	f := facts{dead: s.server.dead, stopping: s.server.stopping, ready: s.health.ready, phase: phaseOf(s.start.phase),
		silence: time.Duration(now - s.start.lineNS), health: s.health.err, unwell: time.Duration(now - s.health.goodNS),
		stepped: s.engines.stepNS > 0, work: s.engines.work(), stepAge: time.Duration(now - s.engines.stepNS)}
	if w, ok := s.windows.controller.Active(); ok {
		f.exporting = w.N
	}
	return f
}

// judge enters a new state where the facts ask for it. Changes between the states of a server that works are shown, not written down.
func (s *Supervisor) judge() {
	f := s.facts()
	state, reason := s.config.Timing.judge(f)
	v := &s.view
	v.reason = reason
	if state == v.state && (state != control.Starting || f.phase.Name == v.phase) {
		return
	}
	from := v.state
	if v.phase == "" {
		from = ""
	}
	if state != v.state {
		v.sinceNS = s.clock.now()
	}
	v.state, v.phase = state, f.phase.Name
	if serving(from) && serving(state) {
		return
	}
	s.record(eventState, stateEvent{From: written(from), To: written(state), Phase: f.phase, Reason: reason})
	s.papers.dirty = true
}

// takeLines takes what the log says.
func (s *Supervisor) takeLines(lines []vllm.LogLine) { s.start.add(s.clock.now(), lines) }

// takeSteps takes what the recorder wrote.
func (s *Supervisor) takeSteps(batch []seen) {
	now := s.clock.now()
	c := s.windows.controller
	for i := range batch {
		one := &batch[i]
		switch one.kind {
		case record.KindHeader:
			s.engines.takeHeader(one.header)
			c.Expect(s.engines.ranks)
			s.papers.dirty = true
		case record.KindProfile:
			s.carryOut(c.Marker(now, s.moment(one.profile.WallNS, one.profile.MonoNS), &one.profile))
		case record.KindStep:
			s.engines.takeStep(min(now, s.moment(one.step.SubmitWallNS, one.step.CompleteMonoNS)), &one.step)
			s.carryOut(c.Step(now, &one.step, one.periodNS))
		}
	}
}

// begin starts or takes over the server and what follows it.
func (s *Supervisor) begin(last past) {
	if err := s.makeFolders(); err != nil {
		s.remark("%v", err)
	}
	if !last.created {
		s.record(eventCreated, createdEvent{ID: s.config.ID})
	}
	self := selfIdentity()
	s.record(eventStarted, startedEvent{PID: self.PID, StartTime: self.StartTime, Socket: s.config.Socket, TakeOver: last.created && !last.closed})
	switch {
	case s.config.Watched != nil:
		s.watch(last)
	case last.created:
		s.takeOver(last)
	default:
		s.spawn()
	}
	if !s.server.running() {
		return
	}
	late := last.created || s.config.Watched != nil // the beginning was read by others, or by nobody
	if late {
		s.readHeaders()
	}
	poll := s.config.Timing.Tick
	if s.config.Watched == nil {
		s.work.Go(func() {
			followLog(s.ctx, filepath.Join(s.config.Dir, rundir.ServerLogName), poll, s.drainLog, func(lines []vllm.LogLine) { s.post(func() { s.takeLines(lines) }) })
		})
	}
	s.work.Go(func() {
		followSteps(s.ctx, s.streams, beginOf(late), poll, func(b []seen) { s.post(func() { s.takeSteps(b) }) })
	})
	s.work.Go(s.watchHealth)
}

// makeFolders makes what is written into. A watched server has folders of its own.
func (s *Supervisor) makeFolders() error {
	names := []string{rundir.WindowsName}
	if s.config.Watched == nil {
		names = append(names, rundir.Layer1Name, rundir.KinetoName)
	}
	var errs []error
	for _, name := range names {
		errs = append(errs, os.MkdirAll(filepath.Join(s.config.Dir, name), rundir.DirMode))
	}
	return errors.Join(errs...)
}

// readHeaders reads what the engines said at their start.
func (s *Supervisor) readHeaders() {
	paths, err := s.streams()
	if err != nil {
		return
	}
	for _, path := range paths {
		if h, ok := readHeader(path); ok {
			s.engines.takeHeader(h)
		}
	}
	s.windows.controller.Expect(s.engines.ranks)
}

// streams lists the Layer-1 files of the run.
func (s *Supervisor) streams() ([]string, error) {
	if w := s.config.Watched; w != nil {
		return w.streams()
	}
	return filepath.Glob(filepath.Join(s.config.Dir, rundir.Layer1Name, "*.jsonl"))
}
