package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"opprof/engine/control"
	"opprof/engine/journal"
	"opprof/engine/rundir"
	"opprof/engine/supervisor/process"
)

// Standing is how a run stands by its journal alone.
type Standing struct {
	Status     control.Status
	Socket     string // of its last supervisor, "" if none was started
	Supervised bool   // that supervisor runs
	Open       bool   // the run has not ended: its server may still run
	Watched    bool   // somebody else started the server: it may run whether this is open or not
}

// ErrNoJournal says that a folder was not launched by opprof and is not watched by it: nothing owns its server.
var ErrNoJournal = errors.New("opprof did not launch this run")

// Stand reads how a run stands, without a supervisor.
func Stand(dir string) (Standing, error) {
	found, err := journal.Read(filepath.Join(dir, rundir.JournalName))
	if errors.Is(err, os.ErrNotExist) {
		return Standing{}, fmt.Errorf("%s: %w", dir, ErrNoJournal)
	}
	if err != nil {
		return Standing{}, err
	}
	last, err := readPast(found)
	if err != nil {
		return Standing{}, err
	}
	boot := journal.BootID()
	s := Standing{Socket: last.started.Socket, Open: last.created && !last.closed}
	s.Supervised = s.Open && last.started.PID > 0 && process.Identity{PID: last.started.PID, StartTime: last.started.StartTime, BootID: last.startedBoot}.Alive(boot)
	s.Status = control.Status{Schema: 1, API: control.API, Run: last.id, Path: dir, State: last.state.To, Phase: last.state.Phase, Reason: last.state.Reason,
		SinceNS: last.stateNS, LastSeq: found.Last().Seq, JournalOK: found.Bad == 0, Engines: []control.Engine{}, Windows: []control.Window{}, Remarks: []string{}}
	for _, w := range last.windows {
		s.Status.Windows = append(s.Status.Windows, w.Window)
	}
	if w := last.watched; w != nil {
		s.Watched = true
		s.Status.Server = control.Server{Addr: w.Addr, Watched: true}
		if !s.Supervised {
			s.Status.State, s.Status.Reason = control.Unwatched, "opprof did not start this server, and watches it only while a screen or a window needs it"
		}
	}
	switch {
	case s.Status.State != "":
	case s.Supervised:
		s.Status.State = control.Starting
	default:
		s.Status.State, s.Status.Reason = control.Dead, "its supervisor ended before it had started the server"
	}
	if found.Bad > 0 {
		s.Status.Remarks = append(s.Status.Remarks, found.FirstBad)
	}
	if last.spawned != nil && s.Open {
		id := process.Identity{PID: last.spawned.PID, StartTime: last.spawned.StartTime, BootID: last.boot}
		if id.Alive(boot) {
			s.Status.Server.PID = id.PID
		} else if !s.Supervised {
			s.Status.State, s.Status.Reason = control.Dead, "the server ended while no supervisor watched"
		}
	}
	if s.Open && !s.Supervised && s.Status.Server.PID > 0 {
		s.Status.Remarks = append(s.Status.Remarks, "its supervisor was killed: opprof attach or stop takes the run over")
	}
	return s, nil
}
