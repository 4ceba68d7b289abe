package panel

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/layout"
	"opprof/tui/theme"
)

const sec = int64(time.Second)

// frameOf is a frame of n columns of a second; fill changes the counts of each column.
func frameOf(n int, fill func(i int, c *store.Counts)) *store.Frame {
	const start = 1_000_000 * sec
	f := &store.Frame{FromNS: start, ToNS: start + int64(n)*sec, BucketNS: sec, Live: true, State: store.State{Name: "busy"}}
	for i := range n {
		c := store.Column{StartNS: start + int64(i)*sec}
		if fill != nil {
			fill(i, &c.Counts)
		}
		f.Columns = append(f.Columns, c)
		f.Span.Counts.Merge(&c.Counts)
		f.Run.Counts.Merge(&c.Counts)
	}
	return f
}

func draw(p Panel, in *Input, w, h int) string {
	g := chart.NewGrid(w, h, theme.UnicodeGlyphs())
	p.Draw(g, in)
	return g.Plain()
}

func TestFoldBins(t *testing.T) {
	labels := []string{"1", "2", "4", "8", ">8"}
	tests := []struct {
		name string
		run  []int64
		rows int
		want string
	}{
		{"all fit", []int64{0, 0, 0, 0, 0}, 5, "1 2 4 8 >8"},
		{"empty ends go first", []int64{0, 0, 7, 7, 0}, 4, "2 4 8 >8"},
		{"an empty open end takes its neighbours", []int64{7, 7, 0, 0, 0}, 3, "1 2 >2"},
		{"nothing is empty", []int64{1, 1, 1, 1, 1}, 3, "1 4 >4"},
		{"one row is all", []int64{1, 1, 1, 1, 1}, 1, ">8"},
		{"no row", []int64{1, 1, 1, 1, 1}, 0, ""},
	}
	for _, tt := range tests {
		_, names := foldBins(labels, tt.run, tt.rows)
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestFoldBinsKeepsAll: whatever is folded, every bin is in exactly one group, in order, and there are no more groups than rows.
func TestFoldBinsKeepsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := rapid.SliceOfN(rapid.Int64Range(0, 3), 1, 20).Draw(t, "run")
		rows := rapid.IntRange(1, 25).Draw(t, "rows")
		groups, names := foldBins(make([]string, len(run)), run, rows)
		if len(groups) > rows || len(names) != len(groups) {
			t.Fatalf("%d groups with %d names in %d rows", len(groups), len(names), rows)
		}
		next := 0
		for _, g := range groups {
			if g[0] != next || g[1] <= g[0] {
				t.Fatalf("groups %v", groups)
			}
			next = g[1]
		}
		if next != len(run) {
			t.Fatalf("groups %v of %d bins", groups, len(run))
		}
		if got, want := sumOf(foldCounts(groups, run)), sumOf(run); got != want {
			t.Fatalf("sum %d, want %d", got, want)
		}
	})
}

// TestHistory: a narrower chart shows whole groups on fixed places, its newest group holds the newest column, and at most the oldest part
// is cut.
func TestHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, w := rapid.IntRange(1, 200).Draw(t, "columns"), rapid.IntRange(1, 200).Draw(t, "width")
		f := frameOf(n, func(i int, c *store.Counts) { c.Steps, c.DecodeTokens = 1, int64(i) })
		shift := rapid.Int64Range(0, 100).Draw(t, "shift") * sec
		for i := range f.Columns {
			f.Columns[i].StartNS += shift
		}
		f.FromNS += shift
		f.ToNS += shift
		h := (&Input{Frame: f}).history(w)
		if len(h.groups) > w || len(h.groups) == 0 {
			t.Fatalf("%d groups in %d columns", len(h.groups), w)
		}
		if h.toNS%h.bucketNS != 0 || h.toNS < f.ToNS || h.toNS-f.ToNS >= h.bucketNS {
			t.Fatalf("right edge %d of buckets of %d, frame ends at %d", h.toNS, h.bucketNS, f.ToNS)
		}
		var steps int64
		for i := range h.groups {
			steps += h.groups[i].Steps
		}
		if float64(steps) < leastShown*float64(n)-float64(h.bucketNS/sec) {
			t.Fatalf("%d of %d columns are shown", steps, n)
		}
	})
}

func TestHistoryCursor(t *testing.T) {
	f := frameOf(60, nil)
	tests := []struct {
		atNS int64
		w    int
		want int
	}{
		{0, 60, 0},
		{f.ToNS - 1, 60, 1},
		{f.ToNS, 60, 0},
		{f.FromNS, 60, 60},
		{f.FromNS - 1, 60, 0},
		{f.ToNS - 1, 30, 1},
		{f.ToNS - 3*sec, 30, 2},
	}
	for _, tt := range tests {
		h := (&Input{Frame: f, CursorNS: tt.atNS}).history(tt.w)
		if got := h.cursor(); got != tt.want {
			t.Errorf("cursor %d ns before the end in %d columns: %d, want %d", f.ToNS-tt.atNS, tt.w, got, tt.want)
		}
	}
}

func TestHeading(t *testing.T) {
	p := Panel{Titles: []string{"context length  requests", "context"}}
	rights := []string{"total 12,345", "12,345"}
	tests := []struct {
		w           int
		title, want string
	}{
		{60, "context length  requests", "total 12,345"},
		{30, "context", "total 12,345"},
		{20, "context", "12,345"},
		{12, "context", ""},
		{3, "context", ""},
	}
	for _, tt := range tests {
		if title, right := p.heading(rights, tt.w); title != tt.title || right != tt.want {
			t.Errorf("%d columns: %q %q, want %q %q", tt.w, title, right, tt.title, tt.want)
		}
	}
}

// TestUnknownIsADash: what the server did not say is never printed as zero.
func TestUnknownIsADash(t *testing.T) {
	f := frameOf(10, func(_ int, c *store.Counts) { c.Steps = 5; c.Graph[record.GraphUnknown] = 5 })
	in := &Input{Frame: f, Now: store.Instant{Known: true, TimeNS: f.ToNS - 1, StepIndex: 50}}
	tests := []struct {
		panel Panel
		lines []string
	}{
		{batchPanel(), []string{"resumed      - req      - tok recomputed"}},
		{prefixPanel(), []string{"hits - in", "run -", "external -"}},
		{graphPanel(), []string{"FULL      -", "NONE      -", "padding -", "now -"}},
		{preemptPanel(), []string{"recomputed        - run", "resumed           - run", "longest step      - run"}},
	}
	for _, tt := range tests {
		got := draw(tt.panel, in, 60, 8)
		for _, l := range tt.lines {
			if !strings.Contains(got, l) {
				t.Errorf("%s: %q is missing in\n%s", tt.panel.ID, l, got)
			}
		}
	}
	for _, l := range strings.Split(draw(stepPanel(), in, 30, 40), "\n") {
		if strings.Contains(l, "period") || strings.Contains(l, "graph") || strings.Contains(l, "hit") || strings.Contains(l, "resumed") {
			if !strings.HasSuffix(strings.TrimRight(l, " "), unit.Unknown) {
				t.Errorf("unknown field: %q", l)
			}
		}
	}
}

// TestChunkTail: the open last bin is split only where the split accounts for all of it.
func TestChunkTail(t *testing.T) {
	f := frameOf(1, func(_ int, c *store.Counts) {
		c.Steps = 1
		c.Chunks.SizeHist[8] = 7
		c.Chunks.TailHist = [4]int64{1, 2, 4, 0}
		c.Chunks.Unsplit = 7
	})
	in := &Input{Frame: f, Now: store.Instant{Known: true}}
	if got := draw(chunkPanel(), in, 50, 16); !strings.Contains(got, ">16k") || strings.Contains(got, ">2k") {
		t.Errorf("known split:\n%s", got)
	}
	f.Span.Counts.Chunks.TailHist[0] = 0
	if got := draw(chunkPanel(), in, 50, 16); strings.Contains(got, ">16k") || !strings.Contains(got, ">2k") {
		t.Errorf("unknown split:\n%s", got)
	}
}

// TestPanelsTakeAnything: no frame and no size makes a panel fail or write outside of its window.
func TestPanelsTakeAnything(t *testing.T) {
	panels := All()
	ids := make([]layout.ID, 0, len(panels))
	for id := range panels {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	rapid.Check(t, func(t *rapid.T) {
		f := frameOf(rapid.IntRange(0, 80).Draw(t, "columns"), func(_ int, c *store.Counts) {
			c.Steps = rapid.Int64Range(0, 3).Draw(t, "steps")
			c.DecodeRequests = rapid.Int64Range(0, 1<<40).Draw(t, "requests")
			c.KVUsageSum = rapid.Float64Range(0, 3).Draw(t, "usage")
			c.ContextHist[rapid.IntRange(0, record.ContextBins-1).Draw(t, "bin")] = rapid.Int64Range(0, 1<<40).Draw(t, "count")
		})
		f.Engines = make([]store.Engine, rapid.IntRange(0, 5).Draw(t, "engines"))
		f.Windows = make([]store.Window, rapid.IntRange(0, 5).Draw(t, "windows"))
		in := &Input{Frame: f, Now: store.Instant{Known: rapid.Bool().Draw(t, "known")}, CursorNS: f.FromNS + rapid.Int64Range(-5*sec, 90*sec).Draw(t, "cursor")}
		w, h := rapid.IntRange(0, 90).Draw(t, "width"), rapid.IntRange(0, 40).Draw(t, "height")
		g := chart.NewGrid(w+2, h+2, theme.UnicodeGlyphs())
		g.Fill(g.Bounds(), '#', theme.RoleText)
		inside := g.Sub(chart.Rect{X: 1, Y: 1, W: w, H: h})
		p := panels[rapid.SampledFrom(ids).Draw(t, "panel")]
		p.Draw(inside, in)
		p.Frame(chart.NewGrid(w, h, theme.ASCIIGlyphs()), in, true)
		for x := range w + 2 {
			if g.Rune(x, 0) != '#' || g.Rune(x, h+1) != '#' {
				t.Fatalf("%s writes outside", p.ID)
			}
		}
	})
}

// TestEveryPanelIsExplained: each panel has a definition, and no definition belongs to nothing.
func TestEveryPanelIsExplained(t *testing.T) {
	panels := All()
	for id := range panels {
		if len(Explain(id)) == 0 {
			t.Errorf("%s is not explained", id)
		}
	}
	for _, d := range Definitions() {
		if _, ok := panels[d.Panel]; !ok && !slices.Contains([]layout.ID{layout.Header, layout.Tabs, layout.Scrub, PageWindows, PageLog, PageServer, PageMetrics, PageWarnings, PageCampaign, PageRuns, PageComparison, PageExperts, PageCost}, d.Panel) {
			t.Errorf("%q explains %s, which is no panel", d.Name, d.Panel)
		}
		if d.Name == "" || !strings.HasSuffix(d.Text, ".") {
			t.Errorf("%s: %q is no sentence", d.Panel, d.Text)
		}
	}
}

// TestEveryStepFieldIsExplained: each field of the step panel has a definition of its name, with a source.
func TestEveryStepFieldIsExplained(t *testing.T) {
	named := map[string]bool{}
	for _, d := range stepDefinitions() {
		named[d.Name] = d.Source != "" && d.Text != ""
	}
	for _, f := range stepFields(&Input{Frame: frameOf(1, nil)}) {
		if !named[f.name] {
			t.Errorf("%s is not explained", f.name)
		}
	}
}

// TestDefinitionsHaveSources: whatever is a number says where it comes from.
func TestDefinitionsHaveSources(t *testing.T) {
	for _, d := range Definitions() {
		if d.Unit != "" && d.Source == "" {
			t.Errorf("%s: %q in %s comes from nowhere", d.Panel, d.Name, d.Unit)
		}
	}
	document := Document()
	for _, d := range Definitions() {
		if !strings.Contains(document, "| "+inTable(d.Name)+" | "+inTable(d.Unit)+" | ") {
			t.Errorf("%s: %q is not in the document", d.Panel, d.Name)
		}
	}
}

// TestHeaderKeepsWhatMatters: at every width the state stands, and alarms go before names.
func TestHeaderKeepsWhatMatters(t *testing.T) {
	f := frameOf(1, nil)
	f.State = store.State{Name: "stalled", StalledNS: 12 * sec}
	f.Loss = store.Loss{Dropped: 17, BadLines: 3}
	s := Status{Run: rundir.Description{ID: "2026-11-30-qwen3-30b-a3b-tp1-a3f2", Model: "Qwen3-30B-A3B", TensorParallel: 2, VLLMVersion: "0.24.0"}, Newest: f}
	for w := 60; w <= 200; w++ {
		g := chart.NewGrid(w, 1, theme.UnicodeGlyphs())
		Header(g, s)
		for _, want := range []string{"stalled for 12.0 s", "dropped 17", "bad lines 3"} {
			if !strings.Contains(g.Plain(), want) {
				t.Fatalf("%d columns: %q is missing in %q", w, want, g.Plain())
			}
		}
	}
	s.Frozen, s.BehindNS = true, 75*sec
	g := chart.NewGrid(80, 1, theme.UnicodeGlyphs())
	Header(g, s)
	if !strings.Contains(g.Plain(), "FROZEN 1m15s behind") {
		t.Errorf("%q", g.Plain())
	}
}

func TestCatchingUp(t *testing.T) {
	streams := []rundir.Stream{{Bytes: 100 << 20, ReadBytes: 25 << 20}}
	if share, behind := backlog(rundir.Description{Streams: streams}); !behind || share != 0.25 {
		t.Errorf("%v %v", share, behind)
	}
	streams[0].ReadBytes = 99 << 20
	if _, behind := backlog(rundir.Description{Streams: streams}); behind {
		t.Error("a screenful is no backlog")
	}
}
