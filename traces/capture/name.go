package capture

import (
	"slices"

	"opprof/engine/armed"
	"opprof/traces/join"
)

// Run is a run that traces lie in.
type Run struct {
	Name   string
	Traces []string
	Armed  *armed.List // what its folder tells of its windows
}

// name names the windows: each by its own run, with the name of that where there are several.
func (c *Capture) name(runs []Run) {
	c.Names = make([]string, len(c.Windows))
	of := make([]int, len(c.Windows)) // -1 is a window of no run
	for i := range c.Windows {
		path := c.Paths[c.Windows[i].Ranks[0]]
		of[i] = slices.IndexFunc(runs, func(r Run) bool { return slices.Contains(r.Traces, path) })
	}
	for k := -1; k < len(runs); k++ {
		var seen []armed.Seen
		var at []int
		for i := range c.Windows {
			if of[i] == k {
				seen, at = append(seen, c.seen(&c.Windows[i])), append(at, i)
			}
		}
		var list *armed.List
		prefix := ""
		if k >= 0 {
			list = runs[k].Armed
			if len(runs) > 1 {
				prefix = runs[k].Name + " "
			}
		}
		for n, name := range list.Names(seen) {
			c.Names[at[n]] = prefix + name.String()
		}
	}
}

// seen is what a window is known by.
func (c *Capture) seen(w *join.Window) armed.Seen {
	s := armed.Seen{DP: w.DP(), AfterStep: -1, StartNS: w.Ranks[0].Span.Start}
	for _, b := range w.Ranks {
		s.Files = append(s.Files, c.Paths[b])
		if len(b.Iterations) > 0 {
			s.StartNS = b.Iterations[0].LabelNS.Start
		}
	}
	if w.Join.Method != "" {
		s.AfterStep = w.Join.AfterStep
	}
	return s
}
