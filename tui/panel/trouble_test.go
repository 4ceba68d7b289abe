package panel

import (
	"strings"
	"testing"

	"opprof/engine/rundir"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// What happens to the files of a run is said on the first line of every page.
func TestTroubleWithFilesIsSaid(t *testing.T) {
	good, gone := rundir.Stream{Path: "a"}, rundir.Stream{Path: "b", Gone: true}
	bad, full := rundir.Stream{Error: "cannot read c: input/output error"}, rundir.Stream{Error: "cannot read d: open d: too many open files"}
	for _, c := range []struct {
		streams  []rundir.Stream
		unlisted string
		want     string
	}{
		{nil, "", ""},
		{[]rundir.Stream{good}, "", ""},
		{[]rundir.Stream{gone}, "", "1 stream deleted"},
		{[]rundir.Stream{gone, gone}, "", "2 streams deleted"},
		{[]rundir.Stream{good, gone, good}, "", "1 of 3 streams deleted"},
		{[]rundir.Stream{good, gone, bad}, "", "1 of 3 streams unreadable"},
		{[]rundir.Stream{good, bad, full}, "", "too many open files"},
		{[]rundir.Stream{gone}, "open run: no such file or directory", "folder unreadable"},
		{nil, "open run: too many open files", "too many open files"},
	} {
		run := rundir.Description{ID: "run", Streams: c.streams, Unlisted: c.unlisted}
		if got := trouble(run); got != c.want {
			t.Errorf("%+v: %q, want %q", run, got, c.want)
		}
		g := chart.NewGrid(80, 1, theme.UnicodeGlyphs())
		Header(g, Status{Run: run})
		if !strings.Contains(g.Plain(), c.want) {
			t.Errorf("%q does not say %q", g.Plain(), c.want)
		}
	}
}
