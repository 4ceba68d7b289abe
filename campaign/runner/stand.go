package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"opprof/campaign/gate"
	"opprof/campaign/plan"
	"opprof/campaign/progress"
	"opprof/engine/control"
	"opprof/engine/journal"
	"opprof/engine/supervisor"
	"opprof/engine/unit"
)

// Stand reads how a campaign stands, from its folder alone. Anybody may ask at any time.
func Stand(dir string) (progress.Campaign, error) {
	h, err := readHistory(dir)
	if err != nil {
		return progress.Campaign{}, err
	}
	p, err := readPlan(dir, h.created.Plan)
	if err != nil {
		return progress.Campaign{}, err
	}
	s := stander{dir: dir, plan: p, history: h, nowNS: journal.SystemClock{}.WallNS(), alive: h.alive(journal.BootID())}
	return s.campaign(), nil
}

// stander turns a history into a standing.
type stander struct {
	dir     string
	plan    *plan.Plan
	history *history
	nowNS   int64
	alive   bool
}

func (s *stander) campaign() progress.Campaign {
	h, p := s.history, s.plan
	c := progress.Campaign{Schema: 1, Name: p.Name, Path: s.dir, LimitPct: p.Campaign.LimitPct, SecondLook: h.look != nil, Verdict: gate.Undecided,
		Units: plan.Units(p.Metrics), Cells: []progress.Cell{}, Remarks: append([]string{}, slices.Concat(h.damage, h.deviations(p), p.Warnings)...)}
	if h.runner != nil {
		c.StartedNS = &h.createdNS
	}
	s.state(&c)
	for _, cell := range p.Cells() {
		c.Cells = append(c.Cells, s.cell(cell))
	}
	if h.closed != nil {
		if c.Verdict = worst(c.Cells); len(h.damage) > 0 {
			c.Verdict = gate.Undecided
		}
	}
	if id, a := h.open(); a != nil && s.alive {
		c.Current = s.find(&c, id)
	} else if id, a := s.cooling(); a != nil {
		c.Current = s.find(&c, id)
	}
	return c
}

// state says whether somebody works on it, and until when.
func (s *stander) state(c *progress.Campaign) {
	h := s.history
	switch {
	case h.closed != nil:
		c.State, c.EndedNS = progress.Finished, &h.lastNS
		return
	case s.alive:
		pid := int64(h.runner.PID)
		c.State, c.RunnerPID, c.UntilNS = progress.Running, &pid, h.runner.UntilNS
	case h.paused != nil:
		c.State, c.Reason = progress.Paused, h.paused.Reason
		if h.paused.Refused {
			c.State = progress.Refused
		}
	case h.runner == nil:
		c.State, c.Reason = progress.Paused, "no runner has begun"
	default:
		c.State, c.Reason = progress.Paused, "its runner was killed"
		if id, a := h.open(); a != nil {
			c.Reason += " during " + id + ": resume begins that run's part again, stop ends its server"
		}
	}
	left := h.estimate(s.plan, h.left(s.plan)).Nanoseconds()
	if _, a := h.open(); a != nil && s.alive {
		left = max(left-max(s.nowNS-a.startedNS, 0), 0)
	}
	c.LeftNS = &left
}

// cooling is the run after which the runner waits.
func (s *stander) cooling() (string, *attempt) {
	if _, open := s.history.open(); open != nil || !s.alive {
		return "", nil
	}
	id, _ := s.history.newest()
	if a := s.history.last(id); a != nil && a.state == progress.Cooling {
		return id, a
	}
	return "", nil
}

func (s *stander) find(c *progress.Campaign, id string) *progress.Run {
	for i := range c.Cells {
		for k := range c.Cells[i].Runs {
			if c.Cells[i].Runs[k].ID == id {
				return &c.Cells[i].Runs[k]
			}
		}
	}
	return nil
}

func (s *stander) cell(cell plan.Cell) progress.Cell {
	out := progress.Cell{Name: cell.String(), Runs: []progress.Run{}}
	metrics := make([]gate.Metric, len(s.plan.Metrics))
	for i, m := range s.plan.Metrics {
		metrics[i] = gate.Metric{Name: m.Name, Higher: m.Higher}
	}
	runs := s.history.runs(s.plan)
	for i := range runs {
		if runs[i].Cell != cell {
			continue
		}
		out.Runs = append(out.Runs, s.run(runs[i]))
		if runs[i].Kind != plan.Measured || runs[i].Slot > 0 {
			continue
		}
		out.Planned++
		switch end, over := s.history.pairs[pairKey{cell.String(), runs[i].Pair}]; {
		case over && end.void == "":
			out.Counted++
			s.addPair(metrics, pairAt(runs, i))
		case over:
			out.Void++
		}
	}
	out.Decision = gate.Decide(metrics, gate.Options{Limit: s.plan.Campaign.LimitPct / 100, SecondLook: s.plan.Campaign.SecondLookPairs > 0})
	return out
}

// addPair adds the numbers of a pair that counts.
func (s *stander) addPair(metrics []gate.Metric, pair []plan.Run) {
	values := map[string]map[string]float64{}
	for _, r := range pair {
		if a := s.history.last(r.ID()); a != nil && a.outcome != nil {
			values[r.Arm] = a.outcome.Metrics
		}
	}
	for i := range metrics {
		name := metrics[i].Name
		metrics[i].Pairs = append(metrics[i].Pairs, gate.Pair{ID: fmt.Sprint(pair[0].Pair), Order: pair[0].Order, Off: values[plan.Off][name], On: values[plan.On][name]})
	}
}

func (s *stander) run(r plan.Run) progress.Run {
	out := progress.Run{ID: r.ID(), Path: filepath.Join(s.dir, RunsName, r.ID()), Kind: r.Kind, Arm: r.Arm, Pair: r.Pair, Order: r.Order, State: progress.Pending,
		Metrics: map[string]float64{}}
	key := pairKey{r.Cell.String(), r.Pair}
	out.Void = s.history.pairs[key].void
	a := s.history.last(r.ID())
	if r.Kind == plan.Measured {
		if begun := s.history.begun(key, []plan.Run{r}); len(begun) == 0 {
			return out // an attempt of a pair that is begun again
		}
	}
	if a == nil {
		return out
	}
	out.Path, out.StartedNS = filepath.Join(s.dir, RunsName, a.dir), &a.startedNS
	switch {
	case a.dropped != "":
		out.Reason = a.dropped
	case a.outcome != nil:
		s.ended(&out, a)
		if id, _ := s.cooling(); id == out.ID {
			out.State = progress.Cooling
		}
	case s.alive:
		out.State = a.state
		if a.state == progress.Starting {
			out.Phase = phase(out.Path)
		}
	default:
		out.Reason = "interrupted"
	}
	return out
}

func (s *stander) ended(out *progress.Run, a *attempt) {
	out.State, out.EndedNS = progress.Done, &a.endedNS
	if len(a.outcome.Void) > 0 {
		out.State, out.Reason = progress.Failed, a.outcome.Void[0]
	}
	for name, v := range a.outcome.Metrics {
		out.Metrics[name] = v
	}
}

// phaseLimit bounds the question to a supervisor, which answers from memory.
const phaseLimit = 200 * time.Millisecond

// phase is how far a server has started, by its supervisor or else its journal.
func phase(dir string) string {
	s, err := supervisor.Stand(dir)
	if err != nil {
		return ""
	}
	p := s.Status.Phase
	if s.Supervised && s.Socket != "" {
		c := control.NewClient(s.Socket, true)
		defer c.Close()
		ctx, cancel := context.WithTimeout(context.Background(), phaseLimit)
		defer cancel()
		if now, err := c.Status(ctx); err == nil {
			p = now.Phase
		}
	}
	if p.Total > 0 {
		return fmt.Sprintf("%s %s of %s", p.Name, unit.Count(p.Done), unit.Count(p.Total))
	}
	return p.Name
}

// worst is the verdict of the cells together.
func worst(cells []progress.Cell) string {
	rank := map[string]int{gate.Pass: 0, gate.Undecided: 1, gate.Fail: 2}
	out := gate.Pass
	if len(cells) == 0 {
		out = gate.Undecided
	}
	for _, c := range cells {
		if rank[c.Decision.Verdict] > rank[out] {
			out = c.Decision.Verdict
		}
	}
	return out
}
