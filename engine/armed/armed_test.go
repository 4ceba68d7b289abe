package armed

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// failer is a test, or one case of a property.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// order is a window of a test as it was armed and ran.
type order struct {
	number, engines int
	startNS, endNS  int64
	after           int64
	summary, traces bool
}

func (o *order) engine(k int) string { return fmt.Sprintf("dp%d-pid%d", k, 100+k) }

func (o *order) file(k int) string {
	return fmt.Sprintf("dp%d_rank0.%d.pt.trace.json.gz", k, o.startNS)
}

// events are the lines of a journal about the order.
func (o *order) events() (lines []string) {
	say := func(atNS int64, event, more string) {
		lines = append(lines, fmt.Sprintf(`{"seq":1,"wall_ns":%d,"event":%q,"n":%d%s}`, atNS, event, o.number, more))
	}
	say(o.startNS, "window_state", `,"from":"armed","to":"starting"`)
	say(o.startNS+5, "window_state", `,"from":"starting","to":"recording"`)
	if o.endNS != 0 {
		say(o.endNS, "window_state", `,"from":"flushing","to":"verified"`)
	}
	return lines
}

func (o *order) write(t failer, dir string) {
	t.Helper()
	var engines, ranks []any
	for k := range o.engines {
		engines = append(engines, map[string]any{"id": o.engine(k), "after_step": o.after})
		if o.traces {
			ranks = append(ranks, map[string]any{"file": "kineto/" + o.file(k)})
		}
	}
	text, err := json.Marshal(map[string]any{"schema": 1, "n": o.number, "engines": engines, "ranks": ranks, "start_post_ns": o.startNS, "stop_return_ns": o.endNS})
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "windows", strconv.Itoa(o.number), "summary.json"), string(text))
}

func put(t failer, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Windows run in any order, some are told by a summary, some by the journal alone, one may still go on, and others were armed by nobody: whatever
// shows them calls each by the number of its order, and no two orders share one.
func TestNamesOfWindows(t *testing.T) {
	root := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		dir := filepath.Join(root, strconv.Itoa(runs))
		n, engines := rapid.IntRange(1, 6).Draw(t, "orders"), rapid.IntRange(1, 2).Draw(t, "engines")
		ran := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for i := 1; i <= n && yield(i); i++ {
			}
		})).Draw(t, "ran")
		journal := rapid.Bool().Draw(t, "journal")
		var seen []Seen
		var want []string
		var lines []string
		strays, at := 0, int64(1_000_000_000_000)
		for i, number := range ran {
			if rapid.IntRange(0, 3).Draw(t, "stray") == 0 { // somebody else's, before it
				strays++
				seen, want = append(seen, Seen{Engine: "dp0-pid100", DP: -1, AfterStep: at / 1000, StartNS: at}), append(want, "t"+strconv.Itoa(strays))
				at += 1_000_000_000
			}
			o := order{number: number, engines: engines, startNS: at, endNS: at + 500_000_000, after: at / 1000, traces: rapid.Bool().Draw(t, "traces")}
			o.summary = !journal || rapid.Bool().Draw(t, "summary")
			if i == len(ran)-1 && journal && rapid.Bool().Draw(t, "goes on") {
				o.endNS, o.summary = 0, false
			}
			lines = append(lines, o.events()...)
			if o.summary {
				o.write(t, dir)
			}
			for k := range engines {
				s := Seen{Engine: o.engine(k), DP: -1, AfterStep: o.after, StartNS: at + 10_000_000}
				switch {
				case o.traces && o.summary && rapid.Bool().Draw(t, "traces alone"): // compressed meanwhile, of no known step
					s.Engine, s.DP, s.AfterStep, s.Files = "", int64(k), -1, []string{"/moved/" + strings.TrimSuffix(o.file(k), ".gz") + ".zst"}
				case o.summary && rapid.Bool().Draw(t, "labels"):
					s.Engine, s.DP = "", int64(k)
				}
				seen, want = append(seen, s), append(want, strconv.Itoa(number))
			}
			at += 1_000_000_000
		}
		if journal {
			put(t, filepath.Join(dir, "journal.jsonl"), strings.Join(lines, "\n")+"\n")
		}
		names := Read(filepath.Join(dir, rapid.SampledFrom([]string{"", "kineto"}).Draw(t, "below"))).Names(seen)
		for i, name := range names {
			if name.String() != want[i] {
				t.Fatalf("window %d of %d is %s, want %s\n%+v", i, len(seen), name, want[i], seen[i])
			}
		}
	})
}

func TestFoldersThatTellNothing(t *testing.T) {
	seen := []Seen{{AfterStep: 9, StartNS: 5}, {AfterStep: 20, StartNS: 9}}
	for name, files := range map[string]map[string]string{
		"nothing":               nil,
		"an empty windows":      {"windows/1/other.txt": ""},
		"a summary that is cut": {"windows/1/summary.json": `{"n":1,"engines":[{"id":"dp0-pid1"`},
		"another's summary":     {"windows/1/summary.json": `{"n":2,"engines":[{"id":"dp0-pid1","after_step":9}]}`},
	} {
		dir := t.TempDir()
		for path, text := range files {
			put(t, filepath.Join(dir, path), text)
		}
		names := Read(dir).Names(seen)
		if names[0] != (Name{Number: 1}) || names[1] != (Name{Number: 2}) {
			t.Errorf("%s: %v", name, names)
		}
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "journal.jsonl"), "torn")
	if names := Read(dir).Names(seen); names[0].String() != "t1" || names[1].String() != "t2" {
		t.Errorf("a journal that knows of no window: %v", names)
	}
}

func TestFolderFollowsItsFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*")
	f := NewFolder(dir)
	if f.List() != nil {
		t.Fatal("an absent folder tells windows")
	}
	o := order{number: 3, engines: 1, startNS: 100, endNS: 200, after: 7}
	put(t, filepath.Join(dir, "journal.jsonl"), strings.Join(o.events(), "\n")+"\n")
	first := f.List()
	if first == nil || len(first.Windows) != 1 || len(first.Windows[0].Markers) != 0 || first.Windows[0].EndNS != 200 {
		t.Fatalf("%+v", first)
	}
	if f.List() != first {
		t.Error("an unchanged folder was read again")
	}
	o.write(t, dir)
	if l := f.List(); len(l.Windows) != 1 || !slices.Equal(l.Windows[0].Markers, []Marker{{"dp0-pid100", 7}}) {
		t.Errorf("%+v", l)
	}
}

func FuzzFolder(f *testing.F) {
	o := order{number: 1, engines: 1, startNS: 100, endNS: 200, after: 7, traces: true}
	f.Add(strings.Join(o.events(), "\n")+"\n", `{"n":1,"engines":[{"id":"dp0-pid1","after_step":9}],"ranks":[{"file":"a"}]}`)
	f.Add("", `null`)
	f.Fuzz(func(t *testing.T, journal, summary string) {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "journal.jsonl"), journal)
		put(t, filepath.Join(dir, "windows", "1", "summary.json"), summary)
		names := Read(dir).Names([]Seen{{Engine: "dp0-pid1", AfterStep: 9, StartNS: 150}, {DP: 1, AfterStep: -1}})
		for _, n := range names {
			if (n.Number > 0) == (n.Stray > 0) {
				t.Errorf("%+v", n)
			}
		}
	})
}
