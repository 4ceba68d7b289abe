package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"opprof/campaign/bench"
	"opprof/campaign/plan"
	"opprof/campaign/progress"
	"opprof/campaign/report"
	"opprof/engine/rundir"
	"opprof/engine/serverconf"
	"opprof/engine/supervisor/process"
)

// Names below a run's folder.
const (
	resultName = "result.json" // below bench: what the load generator measured
	loadLog    = "load.log"
)

// measurement is one run while it is made. What goes wrong with the run goes into its outcome; errors are those of the runner itself.
type measurement struct {
	*runner
	run     plan.Run
	server  serverconf.Server
	dir     string
	outcome Outcome

	from, to time.Time // the measured part of the load; zero where it is not known
}

func (m *measurement) void(format string, args ...any) {
	m.outcome.Void = append(m.outcome.Void, fmt.Sprintf(format, args...))
}

func (m *measurement) remark(format string, args ...any) {
	m.outcome.Remarks = append(m.outcome.Remarks, fmt.Sprintf(format, args...))
}

func (m *measurement) tell(state string, load *process.Identity) error {
	return m.append(eventState, stateEvent{m.run.ID(), state, load})
}

// do makes the run. When ctx ends it returns early, and leaves the server to whoever drops the run.
func (m *measurement) do(ctx context.Context) error {
	began := time.Now()
	s, err := m.Servers.Start(ctx, m.server, m.dir)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		m.void("the server did not start: %v", err)
	} else {
		defer s.Close()
		m.outcome.StartS = seconds(time.Since(began))
		if err := m.serve(ctx, s); err != nil || ctx.Err() != nil {
			return err
		}
	}
	if err := m.tell(progress.Stopping, nil); err != nil {
		return err
	}
	if err := m.stop(ctx, filepath.Base(m.dir)); err != nil {
		return err
	}
	m.outcome.TookNS = time.Since(began).Nanoseconds()
	m.readRun()
	return nil
}

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}

// serve is what happens between a ready server and its stop.
func (m *measurement) serve(ctx context.Context, s Server) error {
	m.outcome.Machine = m.Host.Look(ctx, m.server)
	m.outcome.Cache.Start = m.counters(ctx, s)
	if c := m.outcome.Cache.Start; c != nil {
		m.outcome.Checks = append(m.outcome.Checks, report.Check{Name: "fresh prefix cache", OK: c.Hits == 0,
			Detail: fmt.Sprintf("%.0f hits of %.0f tokens before the load", c.Hits, c.Queries)})
	}
	if m.run.Kind == plan.Experts {
		return m.collect(ctx, s)
	}
	load, _ := m.plan.Load(m.run.Cell.Load)
	if err := m.prepare(ctx, s); err != nil {
		return err
	}
	if err := m.load(ctx, s, load); err != nil || ctx.Err() != nil {
		return err
	}
	m.outcome.Cache.End = m.counters(ctx, s)
	m.outcome.After = m.Host.Look(ctx, m.server).Devices
	for _, other := range m.Host.Strangers(ctx, m.outcome.Machine, s.PIDs()) {
		m.void("%s", other)
	}
	if m.run.Kind == plan.Windows {
		return m.settleWindows(ctx, s)
	}
	return nil
}

// prepare arms what the run wants armed.
func (m *measurement) prepare(ctx context.Context, s Server) error {
	if m.run.Kind == plan.Windows {
		m.arm(ctx, s)
	}
	return ctx.Err()
}

func (m *measurement) counters(ctx context.Context, s Server) *Counters {
	c, err := s.Counters(ctx)
	if err != nil {
		m.remark("the prefix cache's counters are not known: %v", err)
	}
	return c
}

// deadline bounds a load: a generator whose server hangs waits for ever.
func deadline(l plan.Load) time.Duration { return 10*time.Minute + 5*time.Duration(l.Estimate) }

// load runs the load generator, watches the server meanwhile, and reads what was measured.
func (m *measurement) load(ctx context.Context, s Server, l plan.Load) error {
	result := filepath.Join(m.dir, rundir.BenchName, resultName)
	argv, err := bench.Argv(l, bench.Target{Server: m.server, Seed: m.plan.Campaign.Seed, Result: result})
	if err != nil {
		m.void("%v", err)
		return nil
	}
	m.outcome.Generator = Generator{argv, m.Loads.Version(ctx, m.server, l)}
	loading, end := context.WithCancelCause(ctx)
	defer end(nil)
	late := time.AfterFunc(deadline(l), func() { end(fmt.Errorf("the load took longer than %s", deadline(l))) })
	defer late.Stop()
	var wait sync.WaitGroup
	var use []CPUTime
	wait.Go(func() { use = sample(loading, s) })
	wait.Go(func() {
		if err := s.Watch(loading); err != nil {
			end(fmt.Errorf("the server died: %w", err))
		}
	})
	var told error
	began := time.Now()
	ended, err := m.Loads.Run(loading, Work{Argv: argv, Env: m.environment(), Dir: filepath.Dir(result), Log: filepath.Join(filepath.Dir(result), loadLog), Result: result},
		func(id process.Identity) error {
			told = m.tell(progress.Loading, &id)
			return told
		})
	why := context.Cause(loading)
	end(nil)
	wait.Wait()
	switch {
	case told != nil || ctx.Err() != nil:
		return told
	case why != nil:
		m.void("%v", why)
	case err != nil:
		m.void("the load generator did not run: %v", err)
	case !ended.Exit.Known || ended.Exit.Code != 0:
		m.void("the load generator ended with %s: %s", ended.Exit, ended.Tail)
	default:
		m.results(result, l, use, began)
	}
	return nil
}

// environment are the server's variables that a generator needs as well, and its own.
func (m *measurement) environment() []string {
	out := bench.Env()
	for name, value := range m.server.Env {
		if name != "PYTHONPATH" && name != "LD_PRELOAD" {
			out = append(out, name+"="+value)
		}
	}
	return out
}

// results reads what the generator measured.
func (m *measurement) results(path string, l plan.Load, use []CPUTime, began time.Time) {
	f, at, err := m.Loads.Open(path)
	if err != nil {
		m.void("%v", err)
		return
	}
	all, err := bench.Read(f, path, l.Format)
	if err = errors.Join(err, f.Close()); err != nil {
		m.void("%v", err)
		return
	}
	result := all[len(all)-1]
	o := &m.outcome
	o.Requests, o.Failed, o.InputTokens, o.OutputTokens, o.LoadS = result.Completed, result.Failed, result.InputTokens, result.OutputTokens, result.DurationS
	o.Remarks = append(o.Remarks, result.Warnings...)
	o.Metrics = map[string]float64{}
	fields := make([]string, len(m.plan.Metrics))
	for i, metric := range m.plan.Metrics {
		fields[i] = metric.Field
		if v, ok := result.Field(metric.Field); ok {
			o.Metrics[metric.Name] = v
		}
	}
	from := began
	if o.LoadS != nil {
		from = at.Add(-time.Duration(*o.LoadS * float64(time.Second)))
		m.from, m.to = from, at
	}
	o.CPU = cores(use, from, at)
	if m.run.Kind == plan.Measured {
		o.Void = append(o.Void, result.Problems(m.plan.Campaign.MinRequests, fields)...)
	}
}
