package plan

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"opprof/campaign/gate"
	"opprof/engine/regular"
	"opprof/engine/serverconf"
	"opprof/engine/unit"
)

// Plan is a campaign that was read and checked.
type Plan struct {
	Name     string
	Server   serverconf.Server
	Campaign Campaign
	Metrics  []Metric
	Loads    []Load // in the order of the runs
	Warnings []string
}

// Load is a generator with its name.
type Load struct {
	Name string
	Generator
}

// textMax bounds the bytes of a campaign file; a real one has a few kB.
const textMax = 1 << 20

// Read reads a campaign file: [server] and [campaign], both strictly. The error lists everything that is wrong with it.
func Read(path string) (*Plan, error) {
	text, err := regular.Read(path, textMax)
	if err != nil {
		return nil, fmt.Errorf("cannot read configuration: %w", err)
	}
	return Parse(path, string(text))
}

// Parse reads the text of a campaign file; path is for messages and names a campaign without a name.
func Parse(path, text string) (*Plan, error) {
	server, serverErr := serverconf.Parse(path, text)
	c := Defaults()
	section, err := serverconf.ReadSection(path, text, "campaign", &c)
	if section == nil {
		if serverErr != nil && err != nil && serverErr.Error() == err.Error() {
			return nil, err // of the whole file
		}
		return nil, errors.Join(serverErr, err)
	}
	p := &Plan{Name: c.Name, Server: server, Campaign: c}
	if p.Name == "" {
		p.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	r := &reader{section: section, plan: p}
	if len(p.Campaign.TensorParallel) == 0 {
		p.Campaign.TensorParallel = []int{server.TensorParallel}
	}
	r.loads()
	r.metrics()
	r.fits()
	r.check()
	r.matrix()
	if err := errors.Join(append([]error{serverErr, err}, r.errs...)...); err != nil {
		return nil, err
	}
	return p, nil
}

// reader collects what is wrong with a section.
type reader struct {
	section *serverconf.Section
	plan    *Plan
	errs    []error
}

func (r *reader) bad(wrong bool, key, format string, args ...any) {
	if wrong {
		r.errs = append(r.errs, r.section.Errorf(strings.Split(key, "."), format, args...))
	}
}

// plainName is what may become a part of a folder's name.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)

// most bounds lists and counts: a typo must not become a campaign of years.
const most = 1000

func (r *reader) check() {
	p, c := r.plan, &r.plan.Campaign
	r.bad(!plainName.MatchString(p.Name), "name", "%q: expected letters, digits, - and _, at most 40; it names a folder", p.Name)
	r.bad(c.Pairs < 1 || c.Pairs > most, "pairs", "%d: expected 1 to %d", c.Pairs, most)
	r.bad(c.SecondLookPairs < 0 || c.SecondLookPairs > most, "second_look_pairs", "%d: expected 0 (none) to %d", c.SecondLookPairs, most)
	r.bad(c.Order != ABBA && c.Order != BAAB, "order", "%q: expected %s or %s", c.Order, ABBA, BAAB)
	r.bad(!(c.LimitPct > 0 && c.LimitPct <= 100), "limit_pct", "%v: expected a percentage above 0 and up to 100", c.LimitPct)
	r.bad(c.WarmUpRuns < 0 || c.WarmUpRuns > 10, "warm_up_runs", "%d: expected 0 to 10", c.WarmUpRuns)
	r.bad(c.Seed < 0, "seed", "%d: expected 0 or more", c.Seed)
	r.bad(c.MinRequests < 1, "min_requests", "%d: expected at least 1", c.MinRequests)
	r.bad(c.Windows < 0 || c.Windows > most, "windows", "%d: expected 0 (none) to %d", c.Windows, most)
	r.bad(c.ExpertRequests < 0 || c.ExpertRequests > most, "expert_requests", "%d: expected 0 (none) to %d", c.ExpertRequests, most)
	arms := slices.Sorted(slices.Values(c.Arms))
	r.bad(!slices.Equal(arms, []string{Off, On}) && !slices.Equal(arms, []string{Off, On, Unpatched}), "arms",
		"%q: expected off and on, and perhaps unpatched", c.Arms)
	r.warn(c.Pairs < gate.MinPairs, "%s %s nothing: the verdict will be UNDECIDED (%d are needed)", unit.Counted(c.Pairs, "pair"), unit.Verb(c.Pairs, "decides", "decide"), gate.MinPairs)
	r.warn(c.Pairs >= gate.MinPairs && c.Pairs < gate.WarnPairs, "%d pairs: the exact sign-flip test cannot reach %.1f %% below %d", c.Pairs, 100*gate.Alpha, gate.WarnPairs)
	r.warn(c.Pairs%2 == 1, "an odd number of pairs leaves a part of the order effect in the estimate")
	r.warn(c.WarmUpRuns == 0, "no warm-up run: the first pair pays for the page cache and the compilation, and is voided if that was cold")
}

func (r *reader) warn(when bool, format string, args ...any) {
	if when {
		r.plan.Warnings = append(r.plan.Warnings, fmt.Sprintf(format, args...))
	}
}

// matrix checks the lists that span the cells.
func (r *reader) matrix() {
	c := &r.plan.Campaign
	for _, tp := range c.TensorParallel {
		r.bad(tp < 1 || tp > most, "tensor_parallel", "%d: expected 1 to %d", tp, most)
	}
	r.bad(twice(c.TensorParallel), "tensor_parallel", "%v: a number stands twice", c.TensorParallel)
	modes := []string{GraphDefault, GraphEager, "NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"}
	for _, m := range c.GraphModes {
		r.bad(!slices.Contains(modes, m), "graph_modes", "%q: expected %s", m, strings.Join(modes, ", "))
	}
	r.bad(len(c.GraphModes) == 0, "graph_modes", "expected at least one, such as %q", GraphDefault)
	r.bad(twice(c.GraphModes), "graph_modes", "%q: a mode stands twice", c.GraphModes)
	r.bad(len(c.GraphModes)*len(c.TensorParallel)*len(r.plan.Loads) > most, "loads", "the matrix has more than %d cells", most)
}

func twice[T comparable](list []T) bool {
	seen := map[T]bool{}
	for _, v := range list {
		if seen[v] {
			return true
		}
		seen[v] = true
	}
	return false
}

// loads takes the generators in the order of the list, or else of the file.
func (r *reader) loads() {
	c := &r.plan.Campaign
	named := r.section.Names("load")
	order := c.Loads
	if len(order) == 0 {
		order = named
	}
	r.bad(len(named) == 0, "load", "expected at least one [campaign.load.NAME]")
	r.bad(twice(order), "loads", "%q: a load stands twice", order)
	for _, name := range order {
		if !slices.Contains(named, name) {
			r.bad(true, "loads", "%q: there is no [campaign.load.%s]", name, name)
			continue
		}
		g := r.withDefaults(name)
		r.generator("load."+name, g)
		r.bad(!plainName.MatchString(name), "load."+name, "expected a name of letters, digits, - and _, at most 40")
		r.plan.Loads = append(r.plan.Loads, Load{name, g})
	}
}

// withDefaults fills what a load leaves out, which a map's values cannot be given before they are read.
func (r *reader) withDefaults(name string) Generator {
	g, d := r.plan.Campaign.Load[name], generatorDefaults()
	set := func(key string) bool { return r.section.Has("load", name, key) }
	if !set("prompts") {
		g.Prompts = d.Prompts
	}
	if !set("input_tokens") {
		g.InputTokens = d.InputTokens
	}
	if !set("output_tokens") {
		g.OutputTokens = d.OutputTokens
	}
	if !set("format") {
		g.Format = d.Format
	}
	if !set("estimate") {
		g.Estimate = d.Estimate
	}
	return g
}

// mostOfALoad bounds its prompts and the tokens of each; more is a mistake.
const mostOfALoad = 10_000_000

func (r *reader) generator(key string, g Generator) {
	formats := []string{FormatVLLM, FormatGuideLLM, FormatAIPerf, FormatInferencePerf}
	r.bad(g.Prompts < 1 || g.Prompts > mostOfALoad, key+".prompts", "%d: expected 1 to %d", g.Prompts, mostOfALoad)
	r.bad(g.WarmUpPrompts < 0, key+".warm_up_prompts", "%d: expected 0 or more", g.WarmUpPrompts)
	r.bad(g.InputTokens < 1 || g.InputTokens > mostOfALoad, key+".input_tokens", "%d: expected 1 to %d", g.InputTokens, mostOfALoad)
	r.bad(g.OutputTokens < 1 || g.OutputTokens > mostOfALoad, key+".output_tokens", "%d: expected 1 to %d", g.OutputTokens, mostOfALoad)
	r.bad(!(g.RangeRatio >= 0 && g.RangeRatio < 1), key+".range_ratio", "%v: expected 0 up to but not including 1", g.RangeRatio)
	r.bad(!(g.RequestRate >= 0), key+".request_rate", "%v: expected requests a second, or 0 for all at once", g.RequestRate)
	r.bad(g.MaxConcurrency < 0, key+".max_concurrency", "%d: expected requests in flight, or 0 for no bound", g.MaxConcurrency)
	r.bad(!slices.Contains(formats, g.Format), key+".format", "%q: expected %s", g.Format, strings.Join(formats, ", "))
	r.bad(g.Format != FormatVLLM && len(g.Command) == 0, key+".command", "expected the command of a generator that writes %s results", g.Format)
	r.bad(len(g.Command) > 0 && !mentions(g.Command, "{result}"), key+".command", "expected {result} somewhere: the file or folder that the results go to")
	r.bad(time.Duration(g.Estimate) <= 0, key+".estimate", "expected a duration such as 2m")
	r.warn(g.Prompts < r.plan.Campaign.MinRequests, "load %s: %d prompts, and a p95 of fewer than %d requests voids the pair", strings.TrimPrefix(key, "load."), g.Prompts,
		r.plan.Campaign.MinRequests)
}

func mentions(words []string, mark string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, mark) })
}

// metrics takes the primary metrics in the order of the file.
func (r *reader) metrics() {
	names := r.section.Names("metric")
	if len(names) == 0 {
		r.plan.Metrics = DefaultMetrics()
		return
	}
	for _, name := range names {
		m := r.plan.Campaign.Metric[name]
		key := "metric." + name
		r.bad(m.Better != "higher" && m.Better != "lower", key+".better", "%q: expected higher or lower", m.Better)
		r.bad(m.Field == "", key+".field", "expected a field of the results, such as p50_ttft_ms")
		r.plan.Metrics = append(r.plan.Metrics, Metric{name, m.Field, m.Better == "higher"})
	}
}
