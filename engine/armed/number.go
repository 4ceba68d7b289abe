package armed

import (
	"fmt"
	"slices"
	"strconv"
)

// Seen is a window as records or traces show it.
type Seen struct {
	Engine    string   // of its marker; "" for traces without one
	DP        int64    // data-parallel rank of its traces; -1 unknown
	AfterStep int64    // of its marker, or the step before its first label; -1 unknown
	StartNS   int64    // ns since 1970; 0 unknown
	Files     []string // paths of its traces
}

// Name is what a window is called.
type Name struct {
	Number int // it was armed under, or by time where the folder does not tell; 0 for one that nobody armed
	Stray  int // of one that nobody armed, by time among those; 0 for others
}

// String is the number; t1, t2 … for windows that nobody armed.
func (n Name) String() string {
	switch {
	case n.Number > 0:
		return strconv.Itoa(n.Number)
	case n.Stray > 0:
		return "t" + strconv.Itoa(n.Stray)
	}
	return "-"
}

// Names names windows that are given by time. Those of several engines that one order opened share its number. Without a list all are numbered by
// time.
func (l *List) Names(seen []Seen) []Name {
	out := make([]Name, len(seen))
	if l == nil {
		for i := range out {
			out[i].Number = i + 1
		}
		return out
	}
	for _, fits := range []func(*Window, *Seen) bool{(*Window).wrote, (*Window).began} {
		for i := range seen {
			for k := 0; k < len(l.Windows) && out[i].Number == 0; k++ {
				if fits(&l.Windows[k], &seen[i]) {
					out[i].Number = l.Windows[k].Number
				}
			}
		}
	}
	l.byTime(seen, out)
	strays := 0
	for i := range out {
		if out[i].Number == 0 {
			strays++
			out[i].Stray = strays
		}
	}
	return out
}

// byTime gives windows to the orders that ran when they began, one an engine and only where the order does not tell its own marker.
func (l *List) byTime(seen []Seen, out []Name) {
	taken := map[string]bool{}
	key := func(n int, s *Seen) string { return strconv.Itoa(n) + " " + s.engine() }
	for i := range seen {
		if out[i].Number > 0 {
			taken[key(out[i].Number, &seen[i])] = true
		}
	}
	for i := range seen {
		s, best := &seen[i], (*Window)(nil)
		for k := range l.Windows {
			w := &l.Windows[k]
			if out[i].Number == 0 && w.ran(s) && !taken[key(w.Number, s)] && (best == nil || w.StartNS > best.StartNS) {
				best = w
			}
		}
		if best != nil {
			out[i].Number, taken[key(best.Number, s)] = best.Number, true
		}
	}
}

// engine names the engine as far as both a marker and a trace can.
func (s *Seen) engine() string {
	var dp int64
	if _, err := fmt.Sscanf(s.Engine, "dp%d-", &dp); err == nil {
		return strconv.FormatInt(dp, 10)
	}
	if s.Engine == "" && s.DP >= 0 {
		return strconv.FormatInt(s.DP, 10)
	}
	return s.Engine
}

// wrote reports whether one of the traces is the window's.
func (w *Window) wrote(s *Seen) bool {
	return slices.ContainsFunc(s.Files, func(path string) bool { return slices.Contains(w.Files, plain(path)) })
}

// began reports whether the window has this marker. Without one, the step before the first label is as good.
func (w *Window) began(s *Seen) bool {
	return s.AfterStep >= 0 && slices.ContainsFunc(w.Markers, func(m Marker) bool {
		if s.Engine != "" {
			return m == Marker{s.Engine, s.AfterStep}
		}
		return m.AfterStep == s.AfterStep && (s.DP < 0 || (&Seen{Engine: m.Engine}).engine() == s.engine()) && w.near(s.StartNS)
	})
}

// ran reports whether the window ran when the other began, as far as it does not tell better.
func (w *Window) ran(s *Seen) bool {
	told := slices.ContainsFunc(w.Markers, func(m Marker) bool { return s.Engine == m.Engine })
	return !told && s.StartNS != 0 && w.StartNS != 0 && w.near(s.StartNS)
}

// near reports whether a time lies between the window's start and end, or that is not known.
func (w *Window) near(ns int64) bool {
	return ns == 0 || w.StartNS == 0 || ns >= w.StartNS-slackNS && (w.EndNS == 0 || ns <= w.EndNS+slackNS)
}

// slackNS is how far the clocks of two processes may lie apart.
const slackNS = 5_000_000
