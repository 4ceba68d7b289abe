package catalog

import (
	"opprof/engine/store"
	"opprof/traces/join"
	"opprof/traces/rank"
)

// gathered puts the ranks together of windows whose traces hold neither labels nor device work: they share no time, and belong to one window
// where they were written after the same marker.
func (c *Catalog) gathered(windows []join.Window) []join.Window {
	markers := c.options.Markers()
	var out []join.Window
	behind := map[int]int{} // such a window of out, by its marker
	for i := range windows {
		d := &windows[i]
		if startNS(d) != 0 {
			out = append(out, *d)
			continue
		}
		m := markerBefore(markers, writtenNS(c.sorted(), d.Ranks[0]), d.DP())
		if at, ok := behind[m]; ok && m >= 0 {
			if both, ok := join.Together(&out[at], d); ok {
				out[at] = both
				continue
			}
		}
		behind[m] = len(out)
		out = append(out, *d)
	}
	return out
}

// markerBefore is the last marker of an engine before a time; -1 for none.
func markerBefore(markers []store.Window, ns, dp int64) int {
	at := -1
	for i := range markers {
		if m := &markers[i]; ns != 0 && wallNS(m) <= ns && sameEngine(m.Engine, dp) {
			at = i
		}
	}
	return at
}

// writtenNS is when the file of a breakdown was written; 0 when that is not known.
func writtenNS(files []*file, b *rank.Breakdown) int64 {
	for _, f := range files {
		if f.part.Breakdown == b {
			return f.exportNS
		}
	}
	return 0
}
