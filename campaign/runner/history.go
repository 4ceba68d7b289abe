package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"opprof/campaign/plan"
	"opprof/campaign/progress"
	"opprof/engine/journal"
	"opprof/engine/rundir"
	"opprof/engine/supervisor/process"
	"opprof/engine/unit"
)

// attempt is one try at a run.
type attempt struct {
	number     int
	generation int64 // of the runner that made it
	dir        string
	startedNS  int64
	endedNS    int64
	state      string
	stateNS    int64
	load       *process.Identity
	outcome    *Outcome // of one that ended
	dropped    string   // why it counts for nothing
}

func (a *attempt) open() bool { return a.outcome == nil && a.dropped == "" }

// pairKey names a pair of the campaign.
type pairKey struct {
	cell string
	pair int
}

// judged is how a pair ended.
type judged struct {
	void       string // why it does not count; "" when it does
	generation int64
}

// history is what the journal says. The runner learns of its own events by the same way as of those of the runners before it.
type history struct {
	created    *createdEvent
	createdNS  int64
	lastNS     int64
	attempts   map[string][]*attempt // by run
	order      []*attempt            // of all runs, as they were made
	pairs      map[pairKey]judged
	again      []pairEvent // pairs that were begun again
	inARow     int         // pairs that did not count since the last one that did, of this generation
	look       *lookEvent
	runner     *runnerEvent
	runnerBoot string
	generation int64
	machine    Machine // of the last runner
	paused     *pausedEvent
	closed     *closedEvent
	problems   []string
	damage     []string // why nothing may be decided by it
}

// errNoCampaign says that a folder is not a campaign's.
var errNoCampaign = errors.New("no campaign")

func newHistory() *history {
	return &history{attempts: map[string][]*attempt{}, pairs: map[pairKey]judged{}}
}

// readHistory replays a campaign's journal without writing to it.
func readHistory(dir string) (*history, error) {
	found, err := journal.Read(filepath.Join(dir, rundir.JournalName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot open campaign: %s holds %w: opprof campaign run makes one", dir, errNoCampaign)
	}
	if err != nil {
		return nil, err
	}
	h := newHistory()
	return h, h.replay(dir, found)
}

func (h *history) replay(dir string, found *journal.Replay) error {
	for _, e := range found.Entries {
		if err := h.apply(e); err != nil {
			return fmt.Errorf("cannot read journal of %s: %w", dir, err)
		}
	}
	if found.Bad > 0 {
		h.problems = append(h.problems, fmt.Sprintf("%s of the journal %s damaged and left out: %s", unit.Counted(found.Bad, "line"), unit.Verb(found.Bad, "is", "are"), found.FirstBad))
	}
	if found.Gaps > 0 {
		h.damage = append(h.damage, fmt.Sprintf("events of the journal are missing or out of order: %s", found.FirstGap))
	}
	if h.created == nil {
		return fmt.Errorf("cannot open campaign: the journal of %s does not say that one was begun: %w", dir, errNoCampaign)
	}
	return nil
}

// apply takes the next event. Events of a newer version are passed over.
func (h *history) apply(e journal.Entry) error {
	h.lastNS = e.WallNS
	switch e.Event {
	case eventCreated:
		h.created, h.createdNS = &createdEvent{}, e.WallNS
		return e.Decode(h.created)
	case eventRunner:
		h.runner, h.paused, h.runnerBoot, h.generation, h.inARow = &runnerEvent{}, nil, e.BootID, e.Generation, 0
		err := e.Decode(h.runner)
		h.machine = h.runner.Machine
		return err
	case eventLook:
		h.look = &lookEvent{}
		return e.Decode(h.look)
	case eventPaused:
		h.paused = &pausedEvent{}
		return e.Decode(h.paused)
	case eventClosed:
		h.closed = &closedEvent{}
		return e.Decode(h.closed)
	case eventPairDone, eventPairVoid:
		return h.applyPair(e)
	}
	return h.applyRun(e)
}

func (h *history) applyRun(e journal.Entry) error {
	switch e.Event {
	case eventStarted:
		var v startedEvent
		err := e.Decode(&v)
		a := &attempt{number: v.Attempt, generation: e.Generation, dir: v.Dir, startedNS: e.WallNS, state: progress.Starting, stateNS: e.WallNS}
		h.attempts[v.Run] = append(h.attempts[v.Run], a)
		h.order = append(h.order, a)
		return err
	case eventState:
		var v stateEvent
		err := e.Decode(&v)
		if a := h.last(v.Run); a != nil {
			a.state, a.load, a.stateNS = v.State, v.Load, e.WallNS
		}
		return err
	case eventDone:
		var v doneEvent
		err := e.Decode(&v)
		if a := h.last(v.Run); a != nil {
			a.outcome, a.endedNS, a.state, a.load = &v.Results, e.WallNS, progress.Done, nil
		}
		return err
	case eventDropped:
		var v droppedEvent
		err := e.Decode(&v)
		if a := h.last(v.Run); a != nil {
			a.dropped, a.endedNS, a.load = v.Reason, e.WallNS, nil
		}
		return err
	}
	return nil
}

func (h *history) applyPair(e journal.Entry) error {
	var v pairEvent
	err := e.Decode(&v)
	switch {
	case v.Again:
		h.again = append(h.again, v)
	case e.Event == eventPairDone:
		h.pairs[pairKey{v.Cell, v.Pair}] = judged{generation: e.Generation}
		h.inARow = 0
	default:
		h.pairs[pairKey{v.Cell, v.Pair}] = judged{v.Reason, e.Generation}
		h.inARow++
	}
	return err
}

func (h *history) last(run string) *attempt {
	if all := h.attempts[run]; len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

// open is the attempt in progress, with its run's id; nil when there is none.
func (h *history) open() (string, *attempt) {
	for id := range h.attempts {
		if a := h.last(id); a.open() {
			return id, a
		}
	}
	return "", nil
}

// runs are all runs of the campaign as far as it is decided: those of a second look only for the cells that take it.
func (h *history) runs(p *plan.Plan) []plan.Run {
	if h.look == nil {
		return p.Runs(false)
	}
	return slices.DeleteFunc(p.Runs(true), func(r plan.Run) bool { return r.Look == 2 && !slices.Contains(h.look.Cells, r.Cell.String()) })
}

// alive reports whether the last runner works on the campaign now.
func (h *history) alive(bootID string) bool {
	if h.runner == nil || h.paused != nil || h.closed != nil {
		return false
	}
	return process.Identity{PID: h.runner.PID, StartTime: h.runner.StartTime, BootID: h.runnerBoot}.Alive(bootID)
}
