package runreport

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"opprof/campaign/page"
	"opprof/engine/store"
	"opprof/engine/unit"
)

func (r *Report) title() string {
	if r.Run.ID != "" {
		return "Run " + r.Run.ID
	}
	return "Run in " + r.Run.Path
}

// sentence is the run in a sentence.
func (r *Report) sentence() string {
	c := &r.Frame.Run.Counts
	if c.Steps == 0 {
		return "No step of this run could be read."
	}
	about := ""
	if r.Frame.Sampled {
		about = "about "
	}
	text := fmt.Sprintf("%s%s in %s, step period p50 %s, p95 %s", about, unit.Counted(c.Steps, "step"), unit.Duration(c.LastNS-c.FirstNS),
		unit.Known(r.Frame.Run.Period.P50NS, unit.Duration), unit.Known(r.Frame.Run.Period.P95NS, unit.Duration))
	return fmt.Sprintf("%s: %s; %s prefill and %s decode tokens; %s, %s, %s.", dash(r.Run.Model), text, unit.Short(c.PrefillTokens), unit.Short(newDecode(c)),
		unit.Counted(c.Preemptions, "preemption"), unit.Counted(c.Stalls, "stall"), unit.Counted(r.Frame.Loss.Dropped, "dropped record"))
}

// missing says what the figures do not hold, with counts.
func (r *Report) missing() []string {
	var out []string
	if r.Frame.Sampled {
		out = append(out, "the older part of the run is not indexed: totals and columns are estimates from samples")
	}
	loss := &r.Frame.Loss
	for _, l := range []struct {
		n          int64
		what, more string
	}{
		{loss.Dropped, "record", "dropped by the server, whose queue was full"},
		{loss.BadLines, "line", "could not be read and left out"},
		{loss.Gaps, "gap", "in the step index that no drop explains: steps are missing"},
		{loss.Backward, "restart", "inside a stream"},
		{loss.Unknown, "line", "of an unknown type, left out"},
		{loss.TornTails, "last line", "cut off"},
		{loss.Unplaced, "step", "whose clock has no place on the time axis"},
	} {
		if l.n > 0 {
			out = append(out, unit.Counted(l.n, l.what)+" "+l.more)
		}
	}
	return append(out, r.Run.Problems...)
}

// facts say which run this is.
func (r *Report) facts() page.Table {
	d, c := &r.Run, &r.Frame.Run.Counts
	caching := unit.Unknown
	if d.PrefixCaching != nil {
		caching = map[bool]string{true: "on", false: "off"}[*d.PrefixCaching]
	}
	patch := dash(d.PatchHash)
	rows := [][2]string{
		{"run", dash(d.ID)}, {"path", d.Path}, {"model", dash(d.Model)}, {"vLLM", dash(d.VLLMVersion)}, {"patch", patch[:min(12, len(patch))]},
		{"parallel", dash(d.Parallel())}, {"CUDA graphs", dash(d.GraphMode)}, {"prefix caching", caching},
	}
	if d.ModelPath != "" {
		rows = append(rows, [2]string{"model path", d.ModelPath})
	}
	rows = append(rows, r.manifest()...)
	if c.Steps > 0 {
		rows = append(rows, [2]string{"first step", r.date(c.FirstNS)}, [2]string{"last step", r.date(c.LastNS)}, [2]string{"time zone", r.zoneName(c.LastNS)},
			[2]string{"duration", unit.Duration(c.LastNS - c.FirstNS)})
	}
	state := r.Frame.State.Name
	if d.AsOfNS != 0 {
		state = d.State(r.date)
	}
	return page.Facts("", append(rows, [2]string{"state", state})...)
}

// manifest are the facts that only the run's manifest has.
func (r *Report) manifest() [][2]string {
	m := r.Manifest
	if m == nil {
		return nil
	}
	var out [][2]string
	add := func(name, value string) {
		if value != "" {
			out = append(out, [2]string{name, value})
		}
	}
	var gpus []string
	for _, g := range m.GPUs {
		gpus = append(gpus, g.Name)
	}
	add("GPU", strings.Join(gpus, ", "))
	names := []string{}
	for name := range m.Versions {
		if name != "vllm" && name != "patch_hash" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		add(name, m.Versions[name])
	}
	add("quantization", m.Quantization)
	add("server", strings.Join(m.Argv, " "))
	if m.Exit != nil {
		add("ended", m.Exit.String())
	}
	return out
}

// zoneName is the short name of the zone of all times of day.
func (r *Report) zoneName(ns int64) string {
	zone := r.Zone
	if zone == nil {
		zone = time.UTC
	}
	return time.Unix(0, ns).In(zone).Format("MST")
}

func (r *Report) date(ns int64) string {
	if ns == 0 {
		return unit.Unknown
	}
	return unit.Date(ns, r.Zone)
}

// newDecode are the decode tokens that were not computed before a preemption; all where some step does not tell.
func newDecode(c *store.Counts) int64 {
	if n, told := c.NewDecodeTokens(); told {
		return n
	}
	return c.DecodeTokens
}

func dash(s string) string {
	if s == "" {
		return unit.Unknown
	}
	return s
}
