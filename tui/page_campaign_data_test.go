package tui

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"opprof/campaign/gate"
	"opprof/campaign/plan"
	"opprof/campaign/progress"
	"opprof/engine/rundir"
)

// campaignSource is a campaign that a test sets.
type campaignSource struct {
	c     *progress.Campaign
	err   error
	told  int
	wrong error
}

func (s *campaignSource) Run() rundir.Description {
	return rundir.Description{ID: s.c.Name, Path: s.c.Path, Kind: "campaign"}
}
func (s *campaignSource) Campaign(context.Context) (*progress.Campaign, error) { return s.c, s.err }
func (s *campaignSource) Stop(context.Context) error                           { s.told++; return s.wrong }

const campaignStart = int64(1_796_003_492) * int64(time.Second)

func atNS(s int) *int64 {
	ns := campaignStart + int64(s)*int64(time.Second)
	return &ns
}

// campaignCell has pairs whose regressions are known: of TTFT, TPOT and throughput, in percent.
func campaignCell(name string, planned int, effects [][3]float64) progress.Cell {
	metrics := []gate.Metric{{Name: "ttft_p95"}, {Name: "tpot_p95"}, {Name: "throughput", Higher: true}}
	cell := progress.Cell{Name: name, Planned: planned, Counted: len(effects)}
	for i, e := range effects {
		order := []string{"AB", "BA"}[i%2]
		for j := range metrics {
			p := gate.Pair{ID: strconv.Itoa(i + 1), Order: order, Off: 100, On: 100 * (1 + e[j]/100)}
			if metrics[j].Higher {
				p.On = 100 / (1 + e[j]/100)
			}
			metrics[j].Pairs = append(metrics[j].Pairs, p)
		}
	}
	if len(effects) > 0 {
		cell.Decision = gate.Decide(metrics, gate.Options{})
	} else {
		cell.Decision = gate.Decide(nil, gate.Options{})
	}
	return cell
}

// addRuns gives a cell its runs: a warm-up and the arms of its pairs, of which n have ended. It returns the seconds that have passed.
func addRuns(cell *progress.Cell, n, at int) int {
	for i := range 1 + 2*cell.Planned {
		r := progress.Run{Kind: plan.WarmUp, Arm: plan.On, State: progress.Pending, ID: cell.Name + "-warm-up-1-on"}
		if i > 0 {
			pair, slot := (i+1)/2, (i-1)%2
			r.Kind, r.Pair, r.Order = plan.Measured, pair, []string{"AB", "BA"}[(pair-1)%2]
			r.Arm = []string{plan.Off, plan.On}[(slot+pair-1)%2]
			r.ID = fmt.Sprintf("%s-p%03d-%d-%s", cell.Name, pair, slot+1, r.Arm)
		}
		r.Path = "/campaigns/cpu/runs/" + r.ID
		if i < n {
			r.State, r.StartedNS, r.EndedNS = progress.Done, atNS(at), atNS(at+192)
			r.Metrics = map[string]float64{"ttft_p95": 212.4 + float64(i), "tpot_p95": 31.02, "throughput": 412.7}
			at += 222
		}
		cell.Runs = append(cell.Runs, r)
	}
	return at
}

// cpuCampaign is in its second cell of three: a cell that passes, one with two pairs, of which one more is void, and one that has not begun.
func cpuCampaign() *progress.Campaign {
	passes := campaignCell("tp1-default-steady", 6, [][3]float64{{0.4, 0.9, -0.2}, {1.1, 0.2, 0.3}, {-0.3, 0.6, 0.1}, {0.7, 1.2, 0.4}, {0.2, -0.4, 0.0}, {0.9, 0.5, 0.2}})
	begun := campaignCell("tp1-eager-steady", 6, [][3]float64{{1.4, 3.9, 0.2}, {2.6, 4.4, 0.6}})
	waits := campaignCell("tp1-default-burst", 6, nil)
	at := addRuns(&passes, 13, 0)
	at = addRuns(&begun, 6, at)
	addRuns(&waits, 0, at)
	begun.Void, begun.Counted = 1, 2
	void := &begun.Runs[4]
	void.Void = "compilation was cold: 41.2 s of torch.compile"
	now := &begun.Runs[7]
	now.State, now.Phase, now.StartedNS = progress.Starting, "capturing CUDA graphs, 12 of 35", atNS(at)
	begun.Runs[6].State, begun.Runs[6].Reason = progress.Failed, "2 of 200 requests failed"
	begun.Runs[6].StartedNS, begun.Runs[6].EndedNS = atNS(at-200), atNS(at-30)
	pid, left := int64(4711), int64(62*time.Minute)
	return &progress.Campaign{Schema: 1, Name: "cpu-qwen3", Path: "/campaigns/cpu", State: progress.Running, RunnerPID: &pid, StartedNS: atNS(0), LeftNS: &left,
		LimitPct: 3, Verdict: gate.Undecided, Cells: []progress.Cell{passes, begun, waits}, Current: now,
		Units:   map[string]string{"ttft_p95": "ms", "tpot_p95": "ms", "throughput": "tokens/s"},
		Remarks: []string{"pair 2 of tp1-eager-steady is void: compilation was cold: 41.2 s of torch.compile", "2 of 200 requests failed in tp1-eager-steady-p003-2-off: its pair is run again"}}
}

// campaignTime is when the picture is taken: 84 seconds into the run in progress.
func campaignTime(c *progress.Campaign) time.Time {
	if c.Current == nil || c.Current.StartedNS == nil {
		return time.Unix(0, campaignStart).Add(time.Hour)
	}
	return time.Unix(0, *c.Current.StartedNS).Add(84 * time.Second)
}

func campaignScreen(t testing.TB, c *progress.Campaign, w, h int, opt Options) (*screen, *campaignSource) {
	src := &campaignSource{c: c}
	s := newScreen(t, src, campaignTime(c), opt)
	s.size(w, h)
	s.tick(0)
	return s, src
}

// begunCampaign is one whose first server starts.
func begunCampaign() *progress.Campaign {
	c := cpuCampaign()
	cell := campaignCell("tp1-default-steady", 6, nil)
	addRuns(&cell, 0, 0)
	r := &cell.Runs[0]
	r.State, r.Phase, r.StartedNS = progress.Starting, "loading weights", atNS(2)
	c.Cells, c.Current, c.Remarks, c.LeftNS = []progress.Cell{cell}, r, nil, nil
	return c
}

// endedCampaign has a verdict.
func endedCampaign() *progress.Campaign {
	c := cpuCampaign()
	cell := campaignCell("tp1-default-steady", 6, [][3]float64{{4.4, 0.9, -0.2}, {5.1, 0.2, 0.3}, {3.3, 0.6, 0.1}, {4.7, 1.2, 0.4}, {3.2, -0.4, 0.0}, {4.9, 0.5, 0.2}})
	addRuns(&cell, 13, 0)
	c.State, c.Verdict, c.Cells, c.Current, c.RunnerPID, c.EndedNS, c.Remarks, c.LeftNS = progress.Finished, gate.Fail, []progress.Cell{cell}, nil, nil, atNS(2886), nil, nil
	return c
}

// pausedCampaign was left by its runner.
func pausedCampaign() *progress.Campaign {
	c := cpuCampaign()
	c.State, c.Reason, c.RunnerPID, c.Current = progress.Paused, "its runner was killed during tp1-eager-steady-p004-1-on", nil, nil
	return c
}

// noisyCampaign has pairs that spread far, orders that are not known, and a bound beyond the axis.
func noisyCampaign() *progress.Campaign {
	c := cpuCampaign()
	cell := campaignCell("tp4-full-and-piecewise-a-load-with-a-long-name", 8, [][3]float64{{-40, 9, 0}, {80, -12, 0}, {2, 0.4, 0}, {-3, 2, 0}, {60, 1, 0}, {1, 1, 0}, {0.2, 3, 0}, {-8, 4, 0}})
	for i := range cell.Decision.Metrics {
		cell.Decision.Metrics[i].Pairs[2].Order = ""
	}
	addRuns(&cell, 9, 0)
	c.Cells, c.Current = []progress.Cell{cell}, &cell.Runs[9]
	return c
}
