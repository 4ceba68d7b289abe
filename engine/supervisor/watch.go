package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"opprof/engine/control"
	"opprof/engine/rundir"
	"opprof/engine/vllm"
)

// Watched is somebody else's server. A supervisor that watches one owns the journal and the windows, and never signals a process, stops the
// server, or changes a file of its folders. It ends some time after its last client, once no window waits.
type Watched struct {
	Run     string                   // the folder of its records, as it was named
	Streams func() ([]string, error) // its Layer-1 files
	Traces  string                   // the folder where its traces are looked for
}

// streams are the newest Layer-1 file of each engine: those of servers before it may lie in the same folder.
func (w *Watched) streams() ([]string, error) {
	paths, err := w.Streams()
	if err != nil {
		return nil, err
	}
	type stream struct {
		path, engine string
		at           time.Time
	}
	var all []stream
	for _, path := range paths {
		base, age, ok := rundir.StreamName(path)
		if st, err := os.Stat(path); err == nil && ok && age == 0 && base == path {
			engine, _, _ := strings.Cut(filepath.Base(path), "-pid")
			all = append(all, stream{path, engine, st.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b stream) int { return cmp.Or(strings.Compare(a.engine, b.engine), b.at.Compare(a.at)) })
	all = slices.CompactFunc(all, func(a, b stream) bool { return a.engine == b.engine })
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = one.path
	}
	return out, nil
}

// watch begins to look at somebody else's server. What lies in its trace folder is of the time before.
func (s *Supervisor) watch(last past) {
	w := s.config.Watched
	s.server.watched, s.health.goodNS = true, s.clock.now()
	s.record(eventWatched, watchedEvent{Addr: s.config.Address.String(), Run: w.Run, Traces: w.Traces})
	s.restoreWindows(last.windows)
}

// firstAnswer is the phase of a watched server that has not answered yet: its start is not seen.
const firstAnswer = "waiting for its first answer"

// watchedFacts are what is known of a server without its process. Leaving it changes nothing for it.
func (s *Supervisor) watchedFacts(nowNS int64) facts {
	f := facts{dead: s.server.lost, ready: s.health.ready, phase: control.Phase{Name: firstAnswer}, health: s.health.err,
		unwell: time.Duration(nowNS - s.health.goodNS), stepped: s.engines.stepNS > 0, work: s.engines.work(), stepAge: time.Duration(nowNS - s.engines.stepNS)}
	if w, ok := s.windows.controller.Active(); ok {
		f.exporting = w.N
	}
	return f
}

// looksGone judges an answer to /health. A server that refuses connections for a while is gone, and its windows with it; it is watched on,
// since it may come back.
func (s *Supervisor) looksGone(err error) {
	v := &s.server
	switch {
	case err == nil && v.lost != "":
		v.lost = ""
		s.windows.controller.Hold(false)
		s.probeProfile()
	case v.lost != "" || !refused(err) || s.clock.now()-s.health.goodNS < int64(s.config.Timing.Gone):
	default:
		v.lost = fmt.Sprintf("the server is gone: %v", err)
		s.engines = engines{ranks: s.engines.ranks} // another server has other engines
		s.windows.controller.Hold(true)
		s.carryOut(s.windows.controller.ServerGone(s.clock.now()))
	}
}

// refused reports whether nobody listens, or what listens says that its engine is dead.
func refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, vllm.ErrEngineDead)
}

// probeProfile asks whether a server that came back can profile: it may have been started in another way.
func (s *Supervisor) probeProfile() {
	s.do(func(ctx context.Context) func() {
		ctx, cancel := context.WithTimeout(ctx, s.config.Timing.HealthTimeout)
		defer cancel()
		mounted, err := s.client.Profiles(ctx)
		return func() { s.mounted = mounted && err == nil }
	})
}

// moment is when something was recorded. The monotonic clock of another machine says nothing here, and its wall clock is a little off.
func (s *Supervisor) moment(wallNS, monoNS int64) int64 {
	if s.config.Watched != nil && !s.config.Address.Local() {
		return wallNS + int64(clockSlack)
	}
	return s.clock.at(monoNS)
}

// clockSlack is how far the clocks of two machines may be apart.
const clockSlack = 2 * time.Second

// endWatch leaves a server that nobody looks at and that no window waits for.
func (s *Supervisor) endWatch(nowNS int64) {
	c := &s.clients
	if !s.server.watched || c.holders > 0 || nowNS-c.emptyNS < int64(s.config.Timing.Hangup) || s.windows.busy() {
		return
	}
	for _, w := range s.windows.controller.Windows() {
		switch w.State {
		case control.WindowArmed, control.WindowStarting, control.WindowRecording, control.WindowFlushing:
			c.emptyNS = nowNS // who armed it has as long again to ask what came of it
			return
		}
	}
	s.leave("nobody watches any more")
}

// leave ends a watch: what is armed is cancelled, and a profiler that runs is stopped.
func (s *Supervisor) leave(why string) {
	v := &s.server
	if v.stopping != "" {
		return
	}
	v.stopping, v.stage = why, stageWindow
	v.deadlineNS = s.clock.now() + int64(s.config.Timing.StopWindow)
	s.carryOut(s.windows.controller.ServerStopping(s.clock.now(), "its supervisor left: "+why))
}

// postLeave ends a watch, so that another one can begin.
func (s *Supervisor) postLeave(w http.ResponseWriter, r *http.Request) {
	if s.config.Watched == nil {
		refuse(w, http.StatusConflict, "opprof stop ends it", "opprof launched this server and does not leave it alone")
		return
	}
	open := false
	written := make(chan error, 1)
	ok := s.ask(r.Context(), func() {
		if _, open = s.windows.controller.Active(); open {
			return
		}
		s.leave("another watch was asked for")
		s.ledger.onWritten(written)
	})
	switch {
	case !ok:
	case open:
		refuse(w, http.StatusConflict, "opprof window list tells when it is over", "a window is open")
	case s.acknowledged(w, r, written):
		w.WriteHeader(http.StatusAccepted)
	}
}
