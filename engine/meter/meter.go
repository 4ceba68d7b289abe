package meter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"opprof/engine/unit"
	"opprof/engine/vllm"
)

// Options of a Meter. The zero value asks once a second.
type Options struct {
	Now   func() time.Time // nil is time.Now
	Every time.Duration    // between two questions; 0 is a second
	Limit time.Duration    // for each answer; 0 is five seconds
}

const (
	keepNS   = int64(10 * time.Minute) // samples for History
	rateNS   = int64(10 * time.Second) // that rates cover, at most
	recentNS = int64(time.Minute)      // that the recent quantiles cover, at most
	pointNS  = int64(2 * time.Second)  // that the rates of History cover, at least
)

// Meter keeps what a server says. Run fills it; Reading may be called from any goroutine.
type Meter struct {
	addr    vllm.Address
	client  *vllm.Client
	options Options

	mu      sync.Mutex
	asked   int // rounds that are over
	about   about
	problem string
	state   string
	healthy *bool
	bad     vllm.Metrics // its counts of bad lines alone
	samples []sample     // oldest first
	round   chan struct{}
}

// about is what a server says of itself once.
type about struct {
	known   bool
	version *string
	models  []vllm.ServedModel
	profile *bool
	notes   []string
}

// New prepares a meter of a server. The client stays the caller's.
func New(addr vllm.Address, client *vllm.Client, o Options) *Meter {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Every == 0 {
		o.Every = time.Second
	}
	if o.Limit == 0 {
		o.Limit = 5 * time.Second
	}
	return &Meter{addr: addr, client: client, options: o, state: Asking, round: make(chan struct{})}
}

// Run asks until ctx ends. A slow server is asked less often, never twice at once.
func (m *Meter) Run(ctx context.Context) {
	ticker := time.NewTicker(m.options.Every)
	defer ticker.Stop()
	for {
		m.ask(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Wait returns when so many rounds of questions are over since the start, or with ctx.
func (m *Meter) Wait(ctx context.Context, rounds int) error {
	for {
		m.mu.Lock()
		done, next := m.asked >= rounds, m.round
		m.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next:
		}
	}
}

// ask is one round of questions.
func (m *Meter) ask(ctx context.Context) {
	healthErr := m.limited(ctx, m.client.Health)
	var metrics vllm.Metrics
	metricsErr := m.limited(ctx, func(ctx context.Context) (err error) {
		metrics, err = m.client.Metrics(ctx)
		return err
	})
	m.mu.Lock()
	known := m.about.known
	m.mu.Unlock()
	var told about
	if !known && (healthErr == nil || metricsErr == nil) {
		told = m.introduce(ctx)
	}
	if ctx.Err() != nil {
		return // what was cut off says nothing
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if told.known {
		m.about = told
	}
	m.judge(healthErr, metricsErr, &metrics)
	m.asked++
	close(m.round)
	m.round = make(chan struct{})
}

func (m *Meter) limited(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, m.options.Limit)
	defer cancel()
	return call(ctx)
}

// introduce asks what does not change while a server runs.
func (m *Meter) introduce(ctx context.Context) about {
	a := about{known: true}
	note := func(format string, args ...any) { a.notes = append(a.notes, fmt.Sprintf(format, args...)) }
	err := m.limited(ctx, func(ctx context.Context) error {
		version, err := m.client.Version(ctx)
		a.version = &version
		return err
	})
	switch {
	case err != nil:
		a.version = nil
		note("version unknown: %v", err)
	case !strings.HasPrefix(*a.version, Supported):
		note("vLLM %s: OpProf knows %s, and figures of other versions may have other names", *a.version, Supported)
	}
	err = m.limited(ctx, func(ctx context.Context) (err error) {
		a.models, err = m.client.Models(ctx)
		return err
	})
	switch {
	case errors.Is(err, vllm.ErrUnauthorized):
		note("models unknown: the server wants an API key for them; set VLLM_API_KEY")
	case err != nil:
		note("models unknown: %v", err)
	}
	_ = m.limited(ctx, func(ctx context.Context) error {
		mounted, err := m.client.Profiles(ctx)
		if err == nil || mounted {
			a.profile = &mounted
		}
		return err
	})
	return a
}

// Supported is the version of vLLM whose metrics these are.
const Supported = "0.24.0"

// judge takes what a round has found.
func (m *Meter) judge(healthErr, metricsErr error, metrics *vllm.Metrics) {
	now := m.options.Now().UnixNano()
	healthy := healthErr == nil
	m.healthy, m.bad = &healthy, vllm.Metrics{BadLines: metrics.BadLines, FirstBad: metrics.FirstBad}
	own := false
	for i := range metrics.Samples {
		own = own || strings.HasPrefix(metrics.Samples[i].Name, "vllm:")
	}
	switch {
	case healthErr != nil && metricsErr != nil && !errors.Is(healthErr, vllm.ErrEngineDead):
		m.state, m.problem, m.healthy, m.about = Silent, healthErr.Error(), nil, about{}
	case metricsErr != nil && !own:
		m.state, m.problem = Other, metricsErr.Error()
	case own:
		m.state, m.problem = Answers, ""
		if errors.Is(healthErr, vllm.ErrEngineDead) {
			m.problem = healthErr.Error() + ": the figures are its last"
		}
	case m.about.version != nil:
		m.state, m.problem = Other, "the server tells no figures: it was started with --disable-log-stats"
	default:
		m.state, m.problem = Other, "what answers there is no vLLM server: it has no metrics of vLLM and no version"
	}
	s := sample{atNS: now}
	if m.state == Answers {
		s = newSample(now, metrics)
	}
	if n := len(m.samples); n > 0 && now < m.samples[n-1].atNS {
		m.samples = nil // the clock was set back: what was taken before has no place on the axis
	}
	m.samples = append(m.samples, s)
	for now-m.samples[0].atNS > keepNS {
		m.samples = m.samples[1:]
	}
}

// Reading is what is known now.
func (m *Meter) Reading() *Reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &Reading{Addr: m.addr.String(), State: m.state, Problem: m.problem, Healthy: m.healthy, Version: m.about.version, Models: m.about.models,
		Profile: m.about.profile, Notes: append([]string{}, m.about.notes...), BadLines: m.bad.BadLines, FirstBad: m.bad.FirstBad, History: m.history()}
	for i := len(m.samples) - 1; i >= 0 && r.AtNS == 0; i-- {
		if m.samples[i].known {
			r.AtNS = m.samples[i].atNS
		}
	}
	m.fill(r)
	if r.BadLines > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s of /metrics could not be read: %s", unit.Counted(r.BadLines, "line"), r.FirstBad))
	}
	return r
}

// fill adds the figures of the newest answer. A silent server has none.
func (m *Meter) fill(r *Reading) {
	s := &sample{}
	if n := len(m.samples); n > 0 {
		s = &m.samples[n-1]
	}
	before := m.since(rateNS)
	r.Engines, r.Running, r.Waiting, r.KVUsage = s.engines, s.running, s.waiting, s.kvUsage
	for f, into := range map[figure]*Counter{prompt: &r.Prompt, generated: &r.Generated, steps: &r.Steps, finished: &r.Finished,
		preempted: &r.Preempted, lookups: &r.Lookups, hits: &r.Hits} {
		into.Total = s.counts[f]
		if before != nil {
			into.PerS = s.perS(f, before)
		}
	}
	if before != nil {
		r.RateNS = s.atNS - before.atNS
	}
	minute := m.since(recentNS)
	if minute != nil {
		r.RecentNS = s.atNS - minute.atNS
	}
	for i, l := range latencies() {
		one := Latency{Name: l.name, Metric: l.metric}
		if s.known {
			one.Whole = percentiles(s.histograms[i])
		}
		if minute != nil && minute.histograms[i] != nil && s.histograms[i] != nil {
			if h, ok := s.histograms[i].Since(*minute.histograms[i]); ok {
				one.Recent = percentiles(&h)
			}
		}
		r.Latencies = append(r.Latencies, one)
	}
}

// since is the oldest sample of the last so many ns from which on the same server has answered without a break; nil when the newest sample has
// none before it.
func (m *Meter) since(ns int64) *sample {
	last := len(m.samples) - 1
	if last < 1 || !m.samples[last].known {
		return nil
	}
	var oldest *sample
	for i := last - 1; i >= 0; i-- {
		s := &m.samples[i]
		if !s.known || m.samples[i+1].restarted(s) || m.samples[last].atNS-s.atNS > ns {
			break
		}
		oldest = s
	}
	return oldest
}

// history are the moments of the past.
func (m *Meter) history() []Point {
	out := make([]Point, len(m.samples))
	for i := range m.samples {
		s := &m.samples[i]
		p := Point{AtNS: s.atNS, Running: float(s.running), Waiting: float(s.waiting), KVUsage: s.kvUsage}
		if before := m.before(i); before != nil {
			p.PromptPerS, p.GeneratedPerS, p.StepsPerS, p.PreemptionsPerS = s.perS(prompt, before), s.perS(generated, before), s.perS(steps, before), s.perS(preempted, before)
		}
		out[i] = p
	}
	return out
}

// before is the sample that the rates of History at i are counted from.
func (m *Meter) before(i int) *sample {
	for k := i - 1; k >= 0 && m.samples[k].known && m.samples[i].known; k-- {
		if m.samples[i].atNS-m.samples[k].atNS >= pointNS || k == 0 {
			return &m.samples[k]
		}
	}
	return nil
}

func float(n *int64) *float64 {
	if n == nil {
		return nil
	}
	v := float64(*n)
	return &v
}
