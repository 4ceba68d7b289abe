package join

import (
	"fmt"
	"strings"

	"opprof/engine/unit"
	"opprof/traces/rank"
)

// State says how far a window can be trusted.
type State string

const (
	// Verified windows hold every expected rank, whole files, the same labels on all ranks, and every label equals its Layer-1 step.
	Verified State = "verified"
	// Unjoined windows are whole, but nothing ties them to steps.
	Unjoined State = "unjoined"
	// Incomplete windows lack a rank, a label or a part of a file.
	Incomplete State = "incomplete"
)

// State judges the window, with a reason where it is not verified.
func (w *Window) State() (State, string) {
	var why []string
	if len(w.Missing) > 0 {
		why = append(why, "no file of rank "+strings.Trim(strings.Join(strings.Fields(fmt.Sprint(w.Missing)), ", "), "[]"))
	}
	for _, b := range w.Ranks {
		switch {
		case b.Truncated:
			why = append(why, b.File+" is cut off")
		case b.Faults > 0:
			why = append(why, fmt.Sprintf("%s lost %s", b.File, unit.Counted(b.Faults, "event")))
		}
		if len(b.Iterations) != len(w.Iterations) {
			why = append(why, fmt.Sprintf("%s has %d of %d labels", b.File, len(b.Iterations), len(w.Iterations)))
		}
	}
	switch {
	case len(why) > 0:
		return Incomplete, strings.Join(why, "; ")
	case w.Join.Method == "":
		return Unjoined, w.Join.Reason
	}
	return Verified, ""
}

// Range is the smallest and the largest of a figure over a window's iterations.
type Range struct{ Min, Max int64 }

func (r Range) with(v int64, first bool) Range {
	if first {
		return Range{v, v}
	}
	return Range{min(r.Min, v), max(r.Max, v)}
}

// Composition is what a window's labelled iterations held. Labelled is how many labels carry a composition; the ranges are valid when it
// is not 0.
type Composition struct {
	Labelled        int
	PrefillRequests Range
	PrefillTokens   Range
	DecodeRequests  Range
	DecodeTokens    Range
}

// Composition sums up the labels.
func (w *Window) Composition() Composition {
	var c Composition
	for i := range w.Iterations {
		l := &w.Iterations[i].Label
		if !l.Known {
			continue
		}
		first := c.Labelled == 0
		c.PrefillRequests = c.PrefillRequests.with(l.PrefillRequests, first)
		c.PrefillTokens = c.PrefillTokens.with(l.PrefillTokens, first)
		c.DecodeRequests = c.DecodeRequests.with(l.DecodeRequests, first)
		c.DecodeTokens = c.DecodeTokens.with(l.DecodeTokens, first)
		c.Labelled++
	}
	return c
}

// String is the composition in a line: "decode 8 requests, 8 tokens", or "-" when no label carries one.
func (c Composition) String() string {
	if c.Labelled == 0 {
		return "-"
	}
	var parts []string
	if c.PrefillRequests.Max > 0 {
		parts = append(parts, fmt.Sprintf("prefill %s requests, %s tokens", c.PrefillRequests, c.PrefillTokens))
	}
	if c.DecodeRequests.Max > 0 {
		parts = append(parts, fmt.Sprintf("decode %s requests, %s tokens", c.DecodeRequests, c.DecodeTokens))
	}
	if len(parts) == 0 {
		return "no tokens"
	}
	return strings.Join(parts, "; ")
}

// String is one number or "least to most".
func (r Range) String() string {
	if r.Min == r.Max {
		return fmt.Sprint(r.Min)
	}
	return fmt.Sprintf("%d to %d", r.Min, r.Max)
}

// GraphModes counts the CUDA-graph modes of the joined steps, by name.
func (w *Window) GraphModes() map[string]int {
	out := map[string]int{}
	for i := range w.Iterations {
		if s := w.Iterations[i].Step; s != nil && s.Graph != "" {
			out[s.Graph]++
		}
	}
	return out
}

// Mode is how the window's ranks ran their kernels; the first rank speaks for all, since one engine runs one way.
func (w *Window) Mode() rank.Mode { return w.Ranks[0].Mode }
