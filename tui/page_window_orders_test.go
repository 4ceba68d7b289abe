package tui

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"opprof/engine/control"
	"opprof/engine/store"
	"opprof/traces/catalog"
	"opprof/traces/join"
	"opprof/tui/panel"
)

func first(n int64) *int64 { return &n }

// TestOrdersAndWindows is a table of facts: the rows of what the records and the supervisor say.
func TestOrdersAndWindows(t *testing.T) {
	const second = int64(1_000_000_000)
	seen := func(key string, atS, from, to int64, state catalog.State) catalog.Window {
		return catalog.Window{Key: key, TimeNS: atS * second, FirstStep: from, LastStep: to, State: state, Number: 1, Marker: &store.Window{Engine: "dp0-pid1", StartNS: atS * second}}
	}
	order := func(n int, state string, armedS int64, from int64) control.Window {
		w := control.Window{N: n, State: state, ArmedNS: armedS * second, Trigger: control.Trigger{Kind: control.TriggerNow}}
		if from > 0 {
			w.First = first(from)
		}
		return w
	}
	other := seen("b", 20, 90, 110, catalog.Reading)
	other.Marker = &store.Window{Engine: "dp1-pid2", StartNS: 20*second + 1000}
	for _, tt := range []struct {
		name   string
		seen   []catalog.Window
		orders []control.Window
		want   []string // number and state of each row
	}{
		{"a finished window has the number of its order", []catalog.Window{seen("a", 20, 100, 110, catalog.Reading)},
			[]control.Window{order(1, control.WindowCancelled, 10, 0), order(2, control.WindowVerified, 15, 100)}, []string{"1 cancelled", "2 verified"}},
		{"what waits is last, by number", []catalog.Window{seen("a", 20, 100, 110, catalog.Verified)},
			[]control.Window{order(1, control.WindowArmed, 1, 0), order(2, control.WindowVerified, 2, 100), order(3, control.WindowArmed, 3, 0)},
			[]string{"2 verified", "1 armed", "3 armed"}},
		{"the one that runs is the newest marker", []catalog.Window{seen("a", 20, 100, 110, catalog.Verified), seen("b", 40, 300, 0, catalog.Recording)},
			[]control.Window{order(1, control.WindowVerified, 15, 100), order(2, control.WindowFlushing, 39, 0)}, []string{"1 verified", "2 flushing"}},
		{"a marker from before it was armed is not it", []catalog.Window{seen("a", 20, 100, 110, catalog.Verified)},
			[]control.Window{order(1, control.WindowVerified, 15, 100), order(2, control.WindowStarting, 39, 0)}, []string{"1 verified", "2 starting"}},
		{"nobody armed it", []catalog.Window{seen("a", 20, 100, 110, catalog.Verified)}, nil, []string{"0 verified"}},
		{"worse traces are believed", []catalog.Window{seen("a", 20, 100, 110, catalog.Unjoined)}, []control.Window{order(1, control.WindowVerified, 15, 100)}, []string{"1 " + string(catalog.Unjoined)}},
		{"a worse verdict is believed", []catalog.Window{seen("a", 20, 100, 110, catalog.Verified)}, []control.Window{order(1, control.WindowIncomplete, 15, 100)}, []string{"1 incomplete"}},
		{"engines of one window", []catalog.Window{seen("a", 20, 100, 110, catalog.Reading), other}, []control.Window{order(1, control.WindowVerified, 15, 100)}, []string{"1 verified", "1 verified"}},
		{"a failed order has a row", nil, []control.Window{order(1, control.WindowFailed, 15, 0)}, []string{"1 failed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list, _ := withOrders(&catalog.List{Windows: tt.seen}, &panel.Supervised{Status: control.Status{Windows: tt.orders}})
			var got []string
			for _, w := range list.Windows {
				got = append(got, string(rune('0'+w.Number))+" "+string(w.State))
			}
			if len(got) != len(tt.want) {
				t.Fatalf("%q, want %q", got, tt.want)
			}
			for i := range got {
				if got[i] != tt.want[i] {
					t.Errorf("%q, want %q", got, tt.want)
				}
			}
		})
	}
}

// TestWhatTheSupervisorKnows: of a window whose traces are not read here, steps, ranks and export are those that the supervisor found, and what it
// did not find is not known. Its reason does not repeat them.
func TestWhatTheSupervisorKnows(t *testing.T) {
	const second = int64(1_000_000_000)
	stall, last := int64(369_000_000), int64(45)
	marked := catalog.Window{Key: "a", TimeNS: 20 * second, FirstStep: 36, LastStep: 54, State: catalog.Reading, Expected: 2, Steps: make([]join.Step, 10),
		Marker: &store.Window{Engine: "dp0-pid1", StartNS: 20 * second, AfterStep: 35, StopNS: 21 * second, StopAfterStep: 54}}
	read := marked
	read.State, read.Ranks, read.FirstStep, read.LastStep, read.StallNS, read.Detail = catalog.Verified, 2, 37, 44, nil, &join.Window{}
	other := marked
	other.Marker = &store.Window{Engine: "dp1-pid2", StartNS: 20 * second, AfterStep: 935, StopNS: 21 * second, StopAfterStep: 954}
	other.FirstStep, other.LastStep = 936, 954
	order := func(state, reason string) control.Window {
		return control.Window{N: 1, State: state, Reason: reason, ArmedNS: 19 * second, Trigger: control.Trigger{Kind: control.TriggerNow}}
	}
	found := func(w control.Window) control.Window {
		w.First, w.Last, w.StallNS = first(36), &last, &stall
		return w
	}
	for _, tt := range []struct {
		name        string
		seen        catalog.Window
		order       control.Window
		ranks       int
		first, last int64
		stall       bool
		steps       int
		reason      string
	}{
		{"verified", marked, found(order(control.WindowVerified, "")), 2, 36, 45, true, 10, ""},
		{"verified, and read here", read, found(order(control.WindowVerified, "")), 2, 37, 44, false, 10, ""},
		{"the row of another engine", other, found(order(control.WindowVerified, "")), 2, 936, 954, false, 10, ""},
		{"incomplete", marked, found(order(control.WindowIncomplete, "1 of 2 ranks left a trace")), 0, 36, 45, true, 10, "1 of 2 ranks left a trace"},
		{"without labels", marked, order(control.WindowIncomplete, "rank 0 has no labelled step"), 0, 0, 0, false, 0, "rank 0 has no labelled step"},
		{"failed", marked, order(control.WindowFailed, "no trace appeared"), 0, 0, 0, false, 0, "no trace appeared"},
		{"it goes on", marked, order(control.WindowFlushing, ""), 0, 36, 54, false, 10, "traces are written; that holds serving up"},
	} {
		w := tt.seen
		tell(&w, &tt.order, &panel.Supervised{Status: control.Status{Windows: []control.Window{tt.order}}})
		if w.Ranks != tt.ranks || w.FirstStep != tt.first || w.LastStep != tt.last || (w.StallNS != nil) != tt.stall || len(w.Steps) != tt.steps || w.Reason != tt.reason {
			t.Errorf("%s: %d ranks, steps %d to %d, stall %v, %d described, %q", tt.name, w.Ranks, w.FirstStep, w.LastStep, w.StallNS, len(w.Steps), w.Reason)
		}
	}
}

// Every window and every order has a row, and keys stay keys, whatever is said.
func TestOrdersLoseNothing(t *testing.T) {
	states := []string{control.WindowArmed, control.WindowStarting, control.WindowRecording, control.WindowFlushing, control.WindowVerified,
		control.WindowIncomplete, control.WindowFailed, control.WindowCancelled}
	rapid.Check(t, func(t *rapid.T) {
		var list catalog.List
		for i := range rapid.IntRange(0, 6).Draw(t, "windows") {
			from := rapid.Int64Range(0, 50).Draw(t, "from")
			list.Windows = append(list.Windows, catalog.Window{Key: "m" + string(rune('a'+i)), TimeNS: int64(i) * 3_000_000_000, FirstStep: from, LastStep: from + 10,
				Marker: &store.Window{Engine: rapid.SampledFrom([]string{"dp0", "dp1"}).Draw(t, "engine"), StartNS: int64(i) * 3_000_000_000}})
		}
		var s panel.Supervised
		for i := range rapid.IntRange(0, 6).Draw(t, "orders") {
			w := control.Window{N: i + 1, State: rapid.SampledFrom(states).Draw(t, "state"), ArmedNS: rapid.Int64Range(0, 20_000_000_000).Draw(t, "armed")}
			if rapid.Bool().Draw(t, "stepped") {
				w.First = first(rapid.Int64Range(0, 60).Draw(t, "first"))
			}
			s.Windows = append(s.Windows, w)
		}
		before := len(list.Windows)
		got, orders := withOrders(&list, &s)
		rows, numbers := map[string]bool{}, map[int]bool{}
		for _, w := range got.Windows {
			rows[w.Key] = true
			if o := orders[w.Key]; o != nil {
				numbers[o.N] = true
				if w.Number != o.N {
					t.Fatalf("row %s has number %d of order %d", w.Key, w.Number, o.N)
				}
			}
		}
		for i := range list.Windows {
			if !rows[list.Windows[i].Key] {
				t.Fatalf("window %s has no row", list.Windows[i].Key)
			}
		}
		if len(rows) != len(got.Windows) || len(numbers) != len(s.Windows) || len(list.Windows) != before || len(rows) < before {
			t.Fatalf("%d rows of %d windows and %d orders, %d told", len(got.Windows), before, len(s.Windows), len(numbers))
		}
	})
}

// Where the run's folder tells the numbers, windows that ran in another order than they were armed keep theirs, whatever their steps suggest, and
// one that nobody armed has a name of its own.
func TestNumbersOfTheFolder(t *testing.T) {
	const second = int64(1_000_000_000)
	step := int64(100)
	list := &catalog.List{Windows: []catalog.Window{
		{Key: "a", TimeNS: 20 * second, FirstStep: 100, LastStep: 110, Number: 2, Ordered: true},
		{Key: "b", TimeNS: 40 * second, FirstStep: 300, LastStep: 310, Stray: 1, Ordered: true},
		{Key: "c", TimeNS: 60 * second, FirstStep: 100, LastStep: 110, Number: 1, Ordered: true}, // the server began again
	}}
	orders := []control.Window{{N: 1, State: control.WindowVerified, ArmedNS: 10 * second, First: &step}, {N: 2, State: control.WindowVerified, ArmedNS: 15 * second, First: &step}}
	got, of := withOrders(list, &panel.Supervised{Status: control.Status{Windows: orders}})
	var names []string
	for i := range got.Windows {
		names = append(names, got.Windows[i].Name())
	}
	if !slices.Equal(names, []string{"2", "t1", "1"}) || of["a"].N != 2 || of["b"] != nil || of["c"].N != 1 {
		t.Errorf("%v, %v", names, of)
	}
}
