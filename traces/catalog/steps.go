package catalog

import "opprof/traces/join"

// labelledSteps is how many steps of a window are labelled where no trace says it: what a server started by OpProf is asked for.
const labelledSteps = 10

// steps are the first steps after a window's marker, as far as they are known; those of its traces are better.
func (c *Catalog) steps(w *Window) []join.Step {
	if w.Detail != nil || w.Marker == nil || c.options.Step == nil {
		return nil
	}
	last := w.Marker.AfterStep + labelledSteps
	if w.Marker.StopNS != 0 {
		last = min(last, w.Marker.StopAfterStep)
	}
	known := c.described[w.Key]
	for next := w.Marker.AfterStep + 1 + int64(len(known)); next <= last; next++ {
		s, ok := c.options.Step(w.Marker.Engine, next)
		if !ok {
			break
		}
		known = append(known, s)
	}
	c.described[w.Key] = known
	return known
}

// stepsBehind is how many steps behind the labelled ones are looked at for the export: it holds up the last labelled step or, with several
// ranks, the next; one more may be in flight.
const stepsBehind = 2

// stall is how long the export held serving up.
func (c *Catalog) stall(w *Window) int64 {
	if w.Detail == nil || len(w.Detail.Join.Steps) == 0 {
		if w.Marker == nil {
			return 0
		}
		return w.Marker.StallNS
	}
	last := w.Detail.Join.Steps[len(w.Detail.Join.Steps)-1]
	behind := c.behind[w.Key]
	for w.Marker != nil && c.options.Step != nil && len(behind) < stepsBehind {
		s, ok := c.options.Step(w.Marker.Engine, last.Index+1+int64(len(behind)))
		if !ok {
			break
		}
		behind = append(behind, s)
	}
	c.behind[w.Key] = behind
	longest := int64(0)
	if w.Marker != nil {
		longest = w.Marker.StopHeldNS // of a server that writes its traces between two steps
	}
	for _, s := range append([]join.Step{last}, behind...) {
		if s.PeriodNS != nil {
			longest = max(longest, *s.PeriodNS)
		}
	}
	return longest
}

// Composition is what the window's steps held: by the labels of its traces, else by the records of its first steps.
func (w *Window) Composition() join.Composition {
	if w.Detail != nil {
		return w.Detail.Composition()
	}
	var c join.Composition
	for _, s := range w.Steps {
		grow := func(r *join.Range, v int64) {
			if c.Labelled == 0 {
				*r = join.Range{Min: v, Max: v}
			}
			*r = join.Range{Min: min(r.Min, v), Max: max(r.Max, v)}
		}
		grow(&c.PrefillRequests, s.PrefillRequests)
		grow(&c.PrefillTokens, s.PrefillTokens)
		grow(&c.DecodeRequests, s.DecodeRequests)
		grow(&c.DecodeTokens, s.DecodeTokens)
		c.Labelled++
	}
	return c
}

// GraphModes counts the CUDA-graph modes of the same steps, by name.
func (w *Window) GraphModes() map[string]int {
	if w.Detail != nil {
		return w.Detail.GraphModes()
	}
	out := map[string]int{}
	for _, s := range w.Steps {
		if s.Graph != "" {
			out[s.Graph]++
		}
	}
	return out
}
