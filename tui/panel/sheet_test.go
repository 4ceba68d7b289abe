package panel

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"opprof/campaign/calibrate"
	"opprof/campaign/compare"
	"opprof/campaign/gate"
	"opprof/campaign/plan"
	"opprof/campaign/progress"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

func sheetOf(rows, cursor, top int, total bool) *Sheet {
	s := &Sheet{Columns: []SheetColumn{{Head: "n"}}, Cursor: cursor, Top: top}
	for i := range rows {
		s.Rows = append(s.Rows, []Cell{{Text: strconv.Itoa(i + 1)}})
	}
	if total {
		s.Total = []Cell{{Text: "sum"}}
	}
	return s
}

// A border says what is not seen of a table, and nothing where all of it is.
func TestSheetPlace(t *testing.T) {
	for _, tt := range []struct {
		name              string
		rows, cursor, top int
		total             bool
		h                 int
		want              string
	}{
		{"all rows", 3, -1, 0, false, 4, ""},
		{"no rows", 0, -1, 0, false, 4, ""},
		{"rows follow", 10, -1, 0, false, 4, "7 more below"},
		{"a total takes a line", 3, -1, 0, true, 4, "1 more below"},
		{"fewer rows follow", 10, -1, 5, false, 4, "2 more below"},
		{"no row follows", 10, -1, 7, false, 4, "end"},
		{"too far down", 10, -1, 90, false, 4, "end"},
		{"the cursor", 10, 4, 0, false, 4, "5 of 10"},
		{"the cursor among all", 3, 1, 0, false, 4, ""},
		{"only the head", 10, -1, 0, false, 1, "10 more below"},
	} {
		if got := sheetOf(tt.rows, tt.cursor, tt.top, tt.total).Place(tt.h); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestSheetBelow: as many rows follow as the drawing does not reach.
func TestSheetBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 30).Draw(t, "rows")
		s := sheetOf(rows, rapid.IntRange(-1, rows-1).Draw(t, "cursor"), rapid.IntRange(0, 40).Draw(t, "top"), rapid.Bool().Draw(t, "total"))
		h := rapid.IntRange(3, 40).Draw(t, "h")
		below := s.Below(h)
		g := chart.NewGrid(12, h, theme.ASCIIGlyphs())
		s.Draw(g)
		last := 0
		for l := range strings.SplitSeq(g.Plain(), "\n") {
			if n, err := strconv.Atoi(strings.Trim(l, "> ")); err == nil {
				last = max(last, n)
			}
		}
		if last+below != rows {
			t.Fatalf("the last of %d rows is %d, and %d follow", rows, last, below)
		}
	})
}

// TestTableSaysWhatIsAbove: the number of rows above is whole wherever it stands, and stands where there is any room for it.
func TestTableSaysWhatIsAbove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, w := rapid.IntRange(4, 2000).Draw(t, "rows"), rapid.IntRange(12, 60).Draw(t, "w")
		rows := make([][]cell, n)
		for i := range rows {
			rows[i] = []cell{{strconv.Itoa(i), theme.RoleText}, {"closed", theme.RoleText}}
		}
		g := chart.NewGrid(w, 4, theme.ASCIIGlyphs())
		hidden := strconv.Itoa(n - 3)
		if n-3 >= 1000 {
			hidden = hidden[:1] + "," + hidden[1:]
		}
		table(g, []tableColumn{{head: "#"}, {head: "state"}}, rows, hidden+" earlier")
		head, _, _ := strings.Cut(g.Plain(), "\n")
		said := strings.TrimSpace(strings.TrimPrefix(strings.Join(strings.Fields(head), " "), "# state"))
		left := w - len(strconv.Itoa(n-1)) - len("  closed  ")
		want := ""
		switch {
		case left >= len(hidden+" earlier"):
			want = hidden + " earlier"
		case left >= len("+"+hidden):
			want = "+" + hidden
		}
		if said != want {
			t.Fatalf("%d rows in %d columns: %q, want %q", n, w, said, want)
		}
	})
}

// reasons is a campaign of one cell whose runs have a metric, and some of them a reason.
func reasons(state string, why ...string) *Campaign {
	cell := progress.Cell{Name: "tp1", Planned: 6}
	for i, w := range why {
		at := int64(i) * sec
		cell.Runs = append(cell.Runs, progress.Run{ID: "tp1-p001-1-on", Kind: plan.Measured, Pair: i + 1, Order: "AB", Arm: plan.On, State: progress.Starting, Phase: w,
			StartedNS: &at, EndedNS: &at, Metrics: map[string]float64{"throughput": 2129}})
	}
	return &Campaign{Campaign: &progress.Campaign{State: state, Cells: []progress.Cell{cell}, Units: map[string]string{"throughput": "tokens/s"}}}
}

// A list of runs never shows a head that is cut, and gives up figures before it gives up reasons.
func TestRunTableKeepsHeads(t *testing.T) {
	gl := theme.ASCIIGlyphs()
	long := "void: compilation was cold: 41.2 s of torch.compile"
	for w := 48; w <= 160; w++ {
		for name, c := range map[string]*Campaign{"long": reasons(progress.Running, long, ""), "short": reasons(progress.Running, "cooling"), "none": reasons(progress.Running, "")} {
			g := chart.NewGrid(w, 8, gl)
			s := c.RunTable(&gl, &c.Cells[0], "throughput", w)
			s.Cursor = 0
			s.Draw(g)
			head, _, _ := strings.Cut(g.Plain(), "\n")
			if !strings.Contains(head, "phase, or why not") {
				t.Errorf("%s, %d columns: %q", name, w, head)
			}
			if figure := strings.Contains(head, "throughput tok/s"); figure != (w >= 73 || name != "long" && w >= 66) {
				t.Errorf("%s, %d columns: metric %t: %q", name, w, figure, head)
			}
		}
	}
}

// Where nothing runs and nothing went wrong, there is no column of reasons.
func TestRunTableWithoutReasons(t *testing.T) {
	gl := theme.ASCIIGlyphs()
	for state, want := range map[string]bool{progress.Running: true, progress.Finished: false, progress.Paused: false} {
		c := reasons(state, "", "")
		g := chart.NewGrid(120, 4, gl)
		c.RunTable(&gl, &c.Cells[0], "throughput", 120).Draw(g)
		if got := strings.Contains(g.Plain(), "why not"); got != want {
			t.Errorf("%s: reasons %t, want %t\n%s", state, got, want, g.Plain())
		}
	}
}

// The head of a metric stands over its figures: the sign of percent over the last digit of the points, the bound over the bounds.
func TestCellTableHeads(t *testing.T) {
	gl := theme.ASCIIGlyphs()
	pct := func(v float64) *float64 { return &v }
	c := &Campaign{Campaign: &progress.Campaign{State: progress.Running}}
	for _, r := range []gate.Result{
		{Name: "m", N: 2, PointPct: pct(1.5), UpperPct: pct(2.25)}, {Name: "m", N: 2, PointPct: pct(-40.25), UpperPct: pct(-39.5)}, {Name: "m", N: 2, PointPct: pct(212.4), UpperPct: pct(330)}, {Name: "m"},
	} {
		c.Cells = append(c.Cells, progress.Cell{Name: "tp1", Planned: 6, Decision: gate.Decision{Metrics: []gate.Result{r}}})
	}
	g := chart.NewGrid(70, 6, gl)
	c.CellTable(&gl, "m").Draw(g)
	lines := strings.Split(g.Plain(), "\n")
	point, bound := strings.Index(lines[0], "%"), strings.Index(lines[0], "bound")+len("bound")-1
	if point < 0 || bound < point {
		t.Fatalf("head %q", lines[0])
	}
	for _, l := range lines[1:5] {
		if l[point] == ' ' || l[point+1] != ' ' || l[bound] == ' ' || strings.TrimSpace(l[bound+1:]) != "" {
			t.Errorf("%q does not stand below %q", l, lines[0])
		}
	}
}

// Families without a row of their own are summed up: what is seen adds up to what there is.
func TestCostFamiliesAddUp(t *testing.T) {
	names := []string{"attention", "router", "expert_gemm", "dense_gemm", "norm", "memory"}
	rapid.Check(t, func(t *rapid.T) {
		a := &calibrate.Answer{Cell: &calibrate.Row{FamilyNS: map[string]float64{}}}
		var model, measured int
		for _, name := range names[:rapid.IntRange(1, len(names)).Draw(t, "families")] {
			ms := rapid.IntRange(1, 9).Draw(t, name)
			a.Families = append(a.Families, calibrate.Estimate{Name: name, NS: 1e6 * float64(ms)})
			a.Cell.FamilyNS[name] = 2e6 * float64(ms)
			model, measured = model+ms, measured+2*ms
		}
		rows := rapid.IntRange(1, 8).Draw(t, "rows")
		s := costFamilies{a, true}.sheet(rows)
		if len(s.Rows) > rows {
			t.Fatalf("%d rows of %d", len(s.Rows), rows)
		}
		for _, r := range s.Rows {
			for i, left := range []*int{&model, &measured} {
				v, err := strconv.ParseFloat(r[2+3*i].Text, 64)
				if err != nil {
					t.Fatal(err)
				}
				*left -= int(v + 0.5)
			}
		}
		if model != 0 || measured != 0 {
			t.Fatalf("%d ms of the model and %d measured are not in a row", model, measured)
		}
	})
}

// Both sides of a figure go together: one of them alone would be read as the whole.
func TestComparisonKeepsSidesTogether(t *testing.T) {
	table := compare.Table{Head: []string{"graph", "steps A", "B", "B against A", "adds"}, Left: 1, Weights: []int{0, 20, 20, 0, 30}, Rows: [][]string{{"FULL", "1,008", "1,278", "-30.62 %", "-0.6557"}}}
	for w := 20; w <= 60; w++ {
		g := chart.NewGrid(w, 2, theme.ASCIIGlyphs())
		drawRows(g, 0, &table)
		a, b := strings.Contains(g.Plain(), "1,008"), strings.Contains(g.Plain(), "1,278")
		if a != b || (w >= 44) != a {
			t.Errorf("%d columns: A %t, B %t\n%s", w, a, b, g.Plain())
		}
	}
}
