package catalog

import (
	"opprof/engine/stall"
	"opprof/traces/join"
)

// labelledSteps is how many steps of a window are labelled where no trace says it: what a server started by OpProf is asked for.
const labelledSteps = 10

// steps are the first steps after a window's marker, as far as they are known; those of its traces are better.
func (c *Catalog) steps(w *Window) []join.Step {
	if w.Detail != nil || w.Marker == nil || w.State == Failed || c.options.Step == nil {
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

// stall is how long writing a window's traces held serving up; nil where the traces do not tell which steps were labelled.
func (c *Catalog) stall(w *Window) *int64 {
	if w.Detail == nil || w.Marker == nil || !w.Detail.Whole() || len(w.Detail.Join.Steps) == 0 {
		return nil
	}
	steps := w.Detail.Join.Steps
	labelled := make([]stall.Step, len(steps))
	for i := range steps {
		labelled[i] = stall.Step{Index: steps[i].Index, SpanNS: steps[i].SubmitToCompleteNS}
	}
	var behind *stall.Step
	if s := c.stepBehind(w, steps[len(steps)-1].Index+1); s != nil {
		behind = &stall.Step{Index: s.Index, SpanNS: s.SubmitToCompleteNS}
	}
	var stop *stall.Stop
	if w.Marker.StopNS != 0 {
		stop = &stall.Stop{AfterStep: w.Marker.StopAfterStep, HeldNS: w.Marker.StopHeldNS}
	}
	if ns, ok := stall.Export(labelled, behind, stop); ok {
		return &ns
	}
	return nil
}

// stepBehind is the step behind the labelled ones. Its record may come after the traces were read.
func (c *Catalog) stepBehind(w *Window, index int64) *join.Step {
	if s := w.Detail.Join.Behind; s != nil {
		return s
	}
	if s := c.behind[w.Key]; s != nil && s.Index == index {
		return s
	}
	if c.options.Step == nil {
		return nil
	}
	s, ok := c.options.Step(w.Marker.Engine, index)
	if !ok {
		return nil
	}
	c.behind[w.Key] = &s
	return &s
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
