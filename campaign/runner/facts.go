package runner

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"opprof/campaign/plan"
	"opprof/campaign/report"
	"opprof/engine/unit"
)

// environment says where and with what the campaign was made, and what its servers said about themselves.
func (h *history) environment(p *plan.Plan) (facts []report.Fact, backends []string) {
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, report.Fact{Name: name, Value: value})
		}
	}
	seen := map[string]bool{}
	temperature, power := span{}, span{}
	var generators, versions []string
	for _, a := range h.order {
		o := a.outcome
		if o == nil || o.Machine.Host == "" {
			continue
		}
		for _, m := range []Machine{o.Machine, {Devices: o.After}} {
			for _, d := range m.Devices {
				temperature.add(d.TempC)
				power.add(d.PowerW)
			}
		}
		if o.Generator.Version != "" && !slices.Contains(versions, o.Generator.Version) {
			versions = append(versions, o.Generator.Version)
		}
		if line := strings.Join(o.Generator.Argv, " "); line != "" && len(generators) == 0 {
			generators = append(generators, line)
		}
		if backends == nil && len(o.Backends) > 0 {
			backends = o.Backends
		}
		if !seen[o.Machine.Host+o.Machine.BootID] {
			seen[o.Machine.Host+o.Machine.BootID] = true
			o.Machine.facts(add)
		}
	}
	add("vLLM", h.versions())
	add("GPU temperature", temperature.text("C"))
	add("GPU power", power.text("W"))
	add("load generator", strings.Join(versions, ", "))
	add("load of the first run", strings.Join(generators, ""))
	add("seed", fmt.Sprint(p.Campaign.Seed))
	if h.runner != nil {
		add("opprof", h.runner.Version)
	}
	return facts, backends
}

// versions are those of the servers: of the first run that says each, and every other that differs.
func (h *history) versions() string {
	said := map[string][]string{}
	for _, a := range h.order {
		if a.outcome == nil {
			continue
		}
		for name, v := range a.outcome.Versions {
			if name != "opprof" {
				said[name] = another(said[name], v)
			}
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(said)) {
		parts = append(parts, name+" "+strings.Join(said[name], " and "))
	}
	return strings.Join(parts, ", ")
}

// another adds a version that was not said yet. A recorder names the public version, 0.24.0, of what the installation calls 0.24.0+cpu.
func another(said []string, v string) []string {
	for i, old := range said {
		switch {
		case old == v, strings.HasPrefix(old, v+"+"):
			return said
		case strings.HasPrefix(v, old+"+"):
			said[i] = v
			return said
		}
	}
	return append(said, v)
}

// facts tells what a machine is.
func (m Machine) facts(add func(name, value string)) {
	add("machine", m.Host)
	add("kernel", m.Kernel)
	if m.Cores > 0 {
		add("processors", fmt.Sprintf("%d x %s", m.Cores, m.CPU))
	}
	if m.MemoryMiB != nil {
		add("memory", fmt.Sprintf("%.0f GiB", float64(*m.MemoryMiB)/1024))
	}
	add("devices", deviceNames(m.Devices))
	add("driver", m.Driver)
	for _, d := range m.Devices {
		var parts []string
		for _, v := range []struct {
			name, unit string
			value      *float64
		}{{"clock at most", "MHz", d.SMMaxMHz}, {"memory clock", "MHz", d.MemoryMHz}, {"power cap", "W", d.CapW}} {
			if v.value != nil {
				parts = append(parts, fmt.Sprintf("%s %.0f %s", v.name, *v.value, v.unit))
			}
		}
		add("device "+d.UUID, strings.Join(parts, ", "))
	}
	for _, n := range m.Notes {
		add("note", n)
	}
}

// span is the range of values that are known.
type span struct {
	least, most float64
	n           int
}

func (s *span) add(v *float64) {
	switch {
	case v == nil || math.IsNaN(*v):
		return
	case s.n == 0:
		s.least, s.most = *v, *v
	}
	s.least, s.most = min(s.least, *v), max(s.most, *v)
	s.n++
}

func (s *span) text(unit string) string {
	if s.n == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f to %.0f %s", s.least, s.most, unit)
}

// deviations says, in sentences, how what was done departs from what was declared.
func (h *history) deviations(p *plan.Plan) []string {
	out := slices.Clone(h.problems)
	if h.generation > 2 { // the first made the folder, the second ran
		out = append(out, "the campaign was run in "+unit.Counted(h.generation-1, "part"))
	}
	for _, e := range h.again {
		out = append(out, fmt.Sprintf("pair %d of %s was begun again as a whole: %s", e.Pair, e.Cell, e.Reason))
	}
	for _, r := range h.runs(p) {
		a := h.last(r.ID())
		if a == nil || a.outcome == nil {
			continue
		}
		if r.Kind != plan.Measured {
			for _, v := range a.outcome.Void {
				out = append(out, r.ID()+": "+v)
			}
		}
		for _, v := range a.outcome.Remarks {
			out = append(out, r.ID()+": "+v)
		}
	}
	return out
}
