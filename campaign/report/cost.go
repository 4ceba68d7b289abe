package report

import (
	"math"
	"slices"
	"strings"

	"opprof/campaign/plan"
	"opprof/campaign/stat"
)

// Cost is a side effect of the recorder, in both arms of the pairs that count. Nil is unknown, as the recorder's own numbers are while it is off.
type Cost struct {
	Name string   `json:"name"`
	Unit string   `json:"unit"`
	How  string   `json:"how"` // how runs are summed up: mean, largest or sum
	Off  *float64 `json:"off"`
	On   *float64 `json:"on"`
}

// side is a quantity of a run that is not a metric of the gate.
type side struct {
	name, unit, how string
	of              func(*Run) *float64
}

func sides() []side {
	cpu := func(f func(*CPU) *float64) func(*Run) *float64 {
		return func(r *Run) *float64 {
			if r.CPU == nil {
				return nil
			}
			return f(r.CPU)
		}
	}
	recorder := func(f func(*Layer1) *float64) func(*Run) *float64 {
		return func(r *Run) *float64 {
			if r.Layer1 == nil {
				return nil
			}
			return f(r.Layer1)
		}
	}
	return []side{
		{"CPU of EngineCore", "cores", "mean", cpu(func(c *CPU) *float64 { return c.Engine })},
		{"CPU of the front end", "cores", "mean", cpu(func(c *CPU) *float64 { return c.FrontEnd })},
		{"CPU of the workers", "cores", "mean", cpu(func(c *CPU) *float64 { return c.Workers })},
		{"log", "bytes a step", "mean", recorder(func(l *Layer1) *float64 { return l.BytesPerStep })},
		{"queue, high watermark", "records", "largest", recorder(func(l *Layer1) *float64 { return floated(l.QueueHigh) })},
		{"dropped", "records", "sum", recorder(func(l *Layer1) *float64 { return floated(l.Dropped) })},
		{"foreground, p50", "us a step", "mean", recorder(func(l *Layer1) *float64 { return l.ForegroundP50US })},
		{"foreground, p99", "us a step", "largest", recorder(func(l *Layer1) *float64 { return l.ForegroundP99US })},
	}
}

func floated(n *int64) *float64 {
	if n == nil {
		return nil
	}
	v := float64(*n)
	return &v
}

func costOf(pairs []Pair) []Cost {
	out := []Cost{}
	for _, s := range sides() {
		c := Cost{Name: s.name, Unit: s.unit, How: s.how}
		var off, on []float64
		for _, p := range pairs {
			if p.Void != "" {
				continue
			}
			if v := s.of(p.off); v != nil {
				off = append(off, *v)
			}
			if v := s.of(p.on); v != nil {
				on = append(on, *v)
			}
		}
		c.Off, c.On = summed(off, s.how), summed(on, s.how)
		out = append(out, c)
	}
	return out
}

func summed(values []float64, how string) *float64 {
	if len(values) == 0 {
		return nil
	}
	v := 0.0
	switch how {
	case "largest":
		v = slices.Max(values)
	case "sum":
		for _, x := range values {
			v += x
		}
	default:
		v = stat.Mean(values)
	}
	return &v
}

// MachineMean is what the pairs of one machine say.
type MachineMean struct {
	Machine Machine            `json:"machine"` // with the clocks of all its runs
	Pairs   []int              `json:"pairs"`
	Pct     map[string]float64 `json:"point_pct"` // mean regression by metric
}

// machines groups the pairs that count by the machine they ran on.
func (c *Cell) machines() []MachineMean {
	out := []MachineMean{}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		m := p.machine()
		if m == nil || p.Void != "" {
			continue
		}
		k := slices.IndexFunc(out, func(o MachineMean) bool { return o.Machine.same(m) })
		if k < 0 {
			out = append(out, MachineMean{Machine: *m, Pct: map[string]float64{}})
			k = len(out) - 1
		}
		out[k].Pairs = append(out[k].Pairs, p.Number)
		for _, r := range []*Run{p.off, p.on} {
			if r.Machine != nil && r.Machine.Clocks != "" && !slices.Contains(strings.Split(out[k].Machine.Clocks, "; "), r.Machine.Clocks) {
				out[k].Machine.Clocks = strings.TrimPrefix(out[k].Machine.Clocks+"; "+r.Machine.Clocks, "; ")
			}
		}
	}
	for i := range out {
		out[i].mean(c)
	}
	return out
}

// mean takes the mean of the pairs' log ratios, as the gate's point does.
func (m *MachineMean) mean(c *Cell) {
	for i := range c.Decision.Metrics {
		r := &c.Decision.Metrics[i]
		var logs []float64
		for _, e := range r.Pairs {
			if slices.ContainsFunc(m.Pairs, func(n int) bool { return number(n) == e.Pair }) {
				logs = append(logs, math.Log1p(e.Pct/100))
			}
		}
		if len(logs) > 0 {
			m.Pct[r.Name] = 100 * math.Expm1(stat.Mean(logs))
		}
	}
}

// Same says in how many of the pairs that count both arms generated the same texts, and whether they had to.
type Same struct {
	Pairs    int    `json:"pairs"`    // of which the texts are known
	Alike    int    `json:"alike"`    // with all texts alike
	Expected string `json:"expected"` // why the texts have to be alike; "" when they may differ
}

func sameTexts(p *plan.Plan, c plan.Cell, pairs []Pair) Same {
	out := Same{Expected: deterministic(p, c)}
	for _, pair := range pairs {
		if pair.Void != "" || pair.Same == nil {
			continue
		}
		out.Pairs++
		if *pair.Same == pair.Texts {
			out.Alike++
		}
	}
	return out
}

// deterministic says why a server must answer the same requests alike: greedy answers depend on which requests share a batch otherwise.
func deterministic(p *plan.Plan, c plan.Cell) string {
	l, ok := p.Load(c.Load)
	switch {
	case ok && len(l.Command) == 0 && l.MaxConcurrency == 1:
		return "one request at a time"
	case p.Server.Env["VLLM_BATCH_INVARIANT"] == "1":
		return "batch-invariant kernels"
	}
	return ""
}

// excuse says what a difference of texts means.
func (s Same) excuse() string {
	if s.Expected != "" {
		return ", although the trace is deterministic (" + s.Expected + ")"
	}
	return ", as may be where requests share batches"
}
