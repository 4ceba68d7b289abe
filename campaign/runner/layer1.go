package runner

import (
	"bufio"
	"fmt"
	"path/filepath"
	"strings"

	"opprof/campaign/plan"
	"opprof/campaign/report"
	"opprof/engine/record"
	"opprof/engine/regular"
	"opprof/engine/rundir"
	"opprof/engine/vllm"
)

// readRun adds what the folder of a run says after its server has ended.
func (m *measurement) readRun() {
	o := &m.outcome
	found, problems := rundir.ReadManifest(m.dir)
	o.Remarks = append(o.Remarks, problems...)
	if found != nil {
		o.Cache.CompileS, o.Backends = found.Cache.CompileS, found.Backends.Lines
	}
	cold, err := compiledCold(filepath.Join(m.dir, rundir.ServerLogName))
	o.Cache.Cold = cold
	switch {
	case err != nil:
		m.remark("whether the server compiled is not known: %v", err)
	case cold && m.run.Kind == plan.Measured:
		m.void("its server compiled with a cold cache")
	}
	if m.server.Record {
		m.readLayer1()
	}
}

// compiledCold reports whether a server compiled a graph that was not in the cache, by its log.
func compiledCold(path string) (bool, error) {
	f, err := regular.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if vllm.CompiledCold(vllm.ParseLogLine(in.Text())) {
			return true, nil
		}
	}
	return false, in.Err()
}

// readLayer1 checks every stream of the run and sums up what the recorder cost.
func (m *measurement) readLayer1() {
	run, err := rundir.Open(m.dir)
	if err != nil || len(run.Streams) == 0 {
		m.outcome.Checks = append(m.outcome.Checks, report.Check{Name: "layer 1", Detail: "the recorder left no file"})
		return
	}
	sum := &report.Layer1{}
	var bytes int64
	var p50, p99 float64
	footers := 0
	for _, path := range run.Streams {
		check, footer, size, err := readStream(path)
		if err != nil {
			m.remark("%v", err)
		}
		sum.Steps += check.Steps
		bytes += size
		m.outcome.Checks = append(m.outcome.Checks, checkOf(check))
		if footer == nil {
			m.remark("%s has no footer: the recorder was killed", filepath.Base(path))
			continue
		}
		footers++
		sum.QueueHigh, sum.Dropped = most(sum.QueueHigh, footer.QueueHighWatermark), plus(sum.Dropped, footer.Dropped)
		p50, p99 = max(p50, float64(footer.ForegroundNS.P50)/1e3), max(p99, float64(footer.ForegroundNS.P99)/1e3)
		if footer.ForegroundNS.N > 0 {
			sum.ForegroundP50US, sum.ForegroundP99US = &p50, &p99
		}
	}
	if sum.Steps > 0 {
		perStep := float64(bytes) / float64(sum.Steps)
		sum.BytesPerStep = &perStep
	}
	if footers < len(run.Streams) { // what the others counted is not all
		sum.Dropped = nil
	}
	m.outcome.Layer1 = sum
}

func most(a *int64, b int64) *int64 {
	if a != nil {
		b = max(b, *a)
	}
	return &b
}

func plus(a *int64, b int64) *int64 {
	if a != nil {
		b += *a
	}
	return &b
}

// readStream reads one stream whole.
func readStream(path string) (check record.Check, footer *record.Footer, size int64, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return check, nil, 0, err
	}
	defer f.Close()
	c, r := record.NewChecker(), record.NewReader(f, path)
	for r.Scan() {
		c.Add(r.Line())
		if r.Line().Kind == record.KindFooter {
			last := r.Line().Footer
			footer = &last
		}
	}
	return c.Result(), footer, r.Offset(), r.Err()
}

// checkOf is a stream's check in a line.
func checkOf(c record.Check) report.Check {
	out := report.Check{Name: "layer 1 of " + c.EngineID, OK: c.OK() && c.BadLines == 0, Detail: fmt.Sprintf("%d steps", c.Steps)}
	var wrong []string
	if c.BadLines > 0 {
		wrong = append(wrong, fmt.Sprintf("%d bad lines", c.BadLines))
	}
	for name, v := range c.Violations {
		wrong = append(wrong, fmt.Sprintf("%s %d times, first at step %d", name, v.Count, v.FirstStep))
	}
	if len(wrong) > 0 {
		out.Detail = strings.Join(wrong, "; ")
	}
	return out
}
