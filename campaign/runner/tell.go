package runner

import (
	"fmt"
	"path/filepath"
	"strings"

	"opprof/engine/journal"
	"opprof/engine/rundir"
	"opprof/engine/supervisor/process"
	"opprof/engine/unit"
)

// Event is an event of a campaign in words.
type Event struct {
	Seq    int64
	WallNS int64
	Text   string
}

// Events are those behind a sequence number.
func Events(dir string, after int64) ([]Event, error) {
	found, err := journal.Read(filepath.Join(dir, rundir.JournalName))
	if err != nil {
		return nil, err
	}
	var out []Event
	for _, e := range found.Entries {
		if e.Seq > after {
			out = append(out, Event{e.Seq, e.WallNS, words(e)})
		}
	}
	return out, nil
}

// words tells an event. What cannot be read is told by its name.
func words(e journal.Entry) string {
	var v struct {
		startedEvent
		State   string   `json:"state"`
		Reason  string   `json:"reason"`
		Again   bool     `json:"again"`
		Cells   []string `json:"cells"`
		Verdict string   `json:"verdict"`
		Name    string   `json:"name"`
		PID     int      `json:"pid"`
		Results Outcome  `json:"results"`
	}
	if e.Decode(&v) != nil {
		return e.Event
	}
	switch e.Event {
	case eventCreated:
		return "campaign " + v.Name + " is declared"
	case eventRunner:
		return fmt.Sprintf("runner %d begins", v.PID)
	case eventStarted:
		return v.Run + ": its server starts"
	case eventState:
		return v.Run + ": " + v.State
	case eventDone:
		return v.Run + ": " + ending(v.Results)
	case eventDropped:
		return v.Run + ": dropped, " + v.Reason
	case eventPairDone:
		return fmt.Sprintf("pair %d of %s counts", v.Pair, v.Cell)
	case eventPairVoid:
		if v.Again {
			return fmt.Sprintf("pair %d of %s is begun again as a whole: %s", v.Pair, v.Cell, v.Reason)
		}
		return fmt.Sprintf("pair %d of %s does not count: %s", v.Pair, v.Cell, v.Reason)
	case eventLook:
		return "the declared second look is taken for " + strings.Join(v.Cells, ", ")
	case eventPaused:
		return "paused: " + v.Reason
	case eventClosed:
		return "finished: " + v.Verdict
	}
	return e.Event
}

// ending is a run's end in words.
func ending(o Outcome) string {
	if len(o.Void) > 0 {
		return "done, but " + strings.Join(o.Void, "; ")
	}
	parts := []string{"done"}
	if o.Requests != nil && o.LoadS != nil {
		parts = append(parts, fmt.Sprintf("%s in %.1f s", unit.Counted(*o.Requests, "request"), *o.LoadS))
	}
	if o.Windows > 0 {
		parts = append(parts, unit.Counted(o.Windows, "window")+" verified")
	}
	if o.Responses > 0 {
		parts = append(parts, unit.Counted(o.Responses, "response")+" with routed experts")
	}
	return strings.Join(parts, ", ")
}

// Stop asks the runner that works on a campaign to end in order, once it is certain that the process is that one. It does not wait.
func Stop(dir string) error {
	h, err := readHistory(dir)
	if err != nil {
		return err
	}
	boot := journal.BootID()
	if !h.alive(boot) {
		return fmt.Errorf("no runner works on %s", dir)
	}
	p, err := process.Adopt(process.Family{Leader: process.Identity{PID: h.runner.PID, StartTime: h.runner.StartTime, BootID: h.runnerBoot}}, boot)
	if err != nil {
		return err
	}
	defer p.Release()
	return p.Terminate()
}
