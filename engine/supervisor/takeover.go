package supervisor

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"opprof/engine/control"
	"opprof/engine/journal"
	"opprof/engine/record"
	"opprof/engine/regular"
	"opprof/engine/supervisor/process"
	"opprof/engine/window"
)

// past is what a run's journal says of the supervisors before.
type past struct {
	id          string
	created     bool
	closed      bool
	started     startedEvent // the last supervisor
	startedBoot string
	spawned     *spawnedEvent
	boot        string // of the spawn
	state       stateEvent
	stateNS     int64
	ready       bool
	exited      bool
	windows     []window.Taken // StartsNS on the monotonic clock
	stopped     string         // why a stop was ordered, "" if it was not
	watched     *watchedEvent  // somebody else's server
}

// readPast replays a journal's meaning. An event that cannot be read is an error: what it said is not known.
func readPast(found *journal.Replay) (past, error) {
	var p past
	for _, e := range found.Entries {
		if err := p.take(e); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (p *past) take(e journal.Entry) (err error) {
	switch e.Event {
	case eventCreated:
		var v createdEvent
		err = e.Decode(&v)
		p.created, p.id = true, v.ID
	case eventStarted:
		p.startedBoot, p.closed = e.BootID, false // only a watch begins again after its end
		err = e.Decode(&p.started)
	case eventSpawned:
		p.spawned, p.boot = &spawnedEvent{}, e.BootID
		err = e.Decode(p.spawned)
	case eventWatched:
		p.watched = &watchedEvent{}
		err = e.Decode(p.watched)
	case eventState:
		p.state = stateEvent{}
		err = e.Decode(&p.state)
		p.ready, p.stateNS = p.ready || serving(p.state.To), e.WallNS
	case eventArmed:
		var v armedEvent
		err = e.Decode(&v)
		p.windows = append(p.windows, window.Taken{Window: control.Window{N: v.N, State: control.WindowArmed, Trigger: v.Trigger, ArmedNS: e.WallNS}})
	case eventWindow:
		err = p.takeWindow(e)
	case eventStopAsks:
		var v closedEvent
		err = e.Decode(&v)
		p.stopped = v.Reason
	case eventExited:
		p.exited = true
	case eventClosed:
		p.closed = true
	}
	return err
}

func (p *past) takeWindow(e journal.Entry) error {
	var v windowEvent
	if err := e.Decode(&v); err != nil {
		return err
	}
	if v.N < 1 || v.N > len(p.windows) {
		return nil
	}
	t := &p.windows[v.N-1]
	t.Window = v.Window
	if v.To == control.WindowStarting {
		t.StartsNS = e.MonoNS
	}
	return nil
}

// takeOver goes on with a run whose supervisor is gone. The server is found by its identity, or by the run's mark where the supervisor was
// killed before it could write the identity down; anybody else's process is left alone.
func (s *Supervisor) takeOver(last past) {
	s.compressLeft(last.windows)
	boot := journal.BootID()
	switch {
	case last.exited:
		s.windowsGone(last.windows)
		s.gone("its supervisor was killed after the server had ended")
	case last.spawned == nil:
		id, ok := process.Find(s.config.mark(), boot)
		if !ok {
			s.windowsGone(last.windows)
			s.gone("its supervisor was killed before it had started the server")
			return
		}
		group, _ := process.NewCgroup(s.cgroup()) // the one that it was born in, if it was
		s.adopt(process.Family{Leader: id, Mark: s.config.mark(), Cgroup: group}, boot, last)
	case last.boot != boot:
		s.windowsGone(last.windows)
		s.gone("the machine was restarted while the run was open")
	default:
		leader := process.Identity{PID: last.spawned.PID, StartTime: last.spawned.StartTime, BootID: last.boot}
		s.adopt(process.Family{Leader: leader, Mark: s.config.mark(), Cgroup: last.spawned.Cgroup}, boot, last)
	}
}

func (s *Supervisor) adopt(f process.Family, boot string, last past) {
	p, err := process.Adopt(f, boot)
	if err != nil {
		s.windowsGone(last.windows)
		s.sweep(f, err)
		return
	}
	s.adopted(p)
	s.record(eventSpawned, spawnedEvent{PID: f.Leader.PID, PGID: f.Leader.PID, StartTime: f.Leader.StartTime, Argv: s.config.Command.Argv, Cgroup: f.Cgroup, Adopted: true})
	s.papers.manifest.Argv = s.config.Command.Argv
	s.remark("the run was taken over from a supervisor that was killed: the server's exit code will not be known")
	s.health.ready = last.ready
	s.health.goodNS = s.clock.now()
	s.windows.controller.Hold(!last.ready)
	s.restoreWindows(last.windows)
	if last.stopped != "" {
		s.stop(last.stopped)
	}
}

// windowsGone ends the windows of a server that ended while no supervisor watched.
func (s *Supervisor) windowsGone(taken []window.Taken) {
	s.carryOut(s.windows.controller.RestoreGone(s.clock.now(), taken))
}

// restoreWindows goes on with the windows of the supervisor before. What lies in the trace folder is accounted for, except what is newer
// than the start of a window that was open.
func (s *Supervisor) restoreWindows(taken []window.Taken) {
	var openNS int64
	var open int
	for i := range taken {
		t := &taken[i]
		if t.StartsNS > 0 {
			t.StartsNS = s.clock.at(t.StartsNS)
		}
		switch t.State {
		case control.WindowStarting, control.WindowRecording, control.WindowFlushing:
			openNS, open = t.StartsNS, i+1
		}
	}
	s.claimEnded(taken)
	found, err := listTraces(s.kineto())
	if err != nil {
		s.remark("cannot look for traces: %v", err)
	}
	for key, path := range found {
		st, err := os.Stat(path)
		if open > 0 && err == nil && st.ModTime().UnixNano() >= openNS {
			continue
		}
		s.windows.claimed[key] = true
	}
	s.windows.opened = open
	s.carryOut(s.windows.controller.Restore(s.clock.now(), taken))
	s.compressNext()
}

// claimEnded claims the traces of windows that have ended, by their summaries: one that was compressed while the next window was open is as new
// as those of that one.
func (s *Supervisor) claimEnded(taken []window.Taken) {
	for i := range taken {
		switch taken[i].State {
		case control.WindowVerified, control.WindowIncomplete, control.WindowFailed:
			summary, err := readSummary(s.config.Dir, i+1)
			if err != nil {
				continue // its traces are claimed by their times
			}
			for _, r := range summary.Ranks {
				s.windows.claimed[traceKey(r.File)] = true
			}
		}
	}
}

// sweep ends what a server that is gone has left.
func (s *Supervisor) sweep(f process.Family, why error) {
	s.server.stopping = "the server has ended; its other processes are being looked for"
	timing := s.config.Timing
	s.do(func(ctx context.Context) func() {
		r := reap(ctx, timing, f, nil)
		return func() { s.swept(f, why, r) }
	})
}

func (s *Supervisor) swept(f process.Family, why error, r remains) {
	for _, m := range r.killed {
		s.record(eventSignal, signalEvent{Signal: "SIGKILL", PID: m.PID})
	}
	word := []string{fmt.Sprintf("the server (process %d) ended while no supervisor watched: %v", f.Leader.PID, why)}
	if n := len(r.killed); n > 0 {
		word = append(word, leftKilled(n))
	}
	s.gone(strings.Join(append(word, s.leftovers(r)...), "; "))
}

// recentBytes is how much of a stream a new supervisor reads again: enough steps for an open window.
const recentBytes = 4 << 20

// beginOf says where to begin in a stream: at its first line, or near its end where another supervisor has read the rest.
func beginOf(taken bool) func(path string, size int64) (offset, line int64) {
	if !taken {
		return nil
	}
	return func(path string, size int64) (int64, int64) {
		if size <= recentBytes {
			return 0, 0
		}
		offset, err := lineAfter(path, size-recentBytes)
		if err != nil {
			return 0, 0
		}
		return offset, -1
	}
}

// lineAfter is the offset of the first line that begins behind an offset.
func lineAfter(path string, offset int64) (int64, error) {
	f, err := regular.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return 0, err
	}
	skipped, err := bufio.NewReader(f).ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	return offset + int64(len(skipped)), nil
}

// readHeader reads the first line of a stream, which a new supervisor may not come across otherwise.
func readHeader(path string) (record.Header, bool) {
	f, err := regular.Open(path)
	if err != nil {
		return record.Header{}, false
	}
	defer f.Close()
	r := record.NewReader(f, path)
	if !r.Scan() || r.Line().Kind != record.KindHeader {
		return record.Header{}, false
	}
	return r.Line().Header, true
}
