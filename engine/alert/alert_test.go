package alert

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"opprof/engine/record"
	"opprof/engine/store"
)

const (
	ms  = int64(1_000_000)
	sec = 1000 * ms
	t0  = 1_800_000_000 * sec
)

// feeder gives a watch steps of 100 ms each, changed as a test says.
type feeder struct {
	w    *Watch
	step record.Step
	atNS int64
}

func newFeeder(t Thresholds) *feeder {
	f := &feeder{w: New(t), atNS: t0}
	f.step = record.Step{EngineID: "dp0", Queues: record.Queues{Running: 4}}
	return f
}

func (f *feeder) next(change func(*record.Step)) {
	f.atNS += 100 * ms
	s := f.step
	f.step.StepIndex++
	s.StepIndex = f.step.StepIndex
	s.SubmitWallNS, s.SubmitMonoNS, s.CompleteMonoNS = f.atNS-ms, f.atNS-t0-ms+sec, f.atNS-t0+sec
	if change != nil {
		change(&s)
		f.step.StepIndex = s.StepIndex
	}
	f.w.Step(0, &s, f.atNS)
}

func (f *feeder) warning(t *testing.T, r Rule) *Warning {
	t.Helper()
	f.w.Publish(0)
	list := f.w.Warnings()
	i := slices.IndexFunc(list, func(w Warning) bool { return w.Rule == r })
	if i < 0 {
		return nil
	}
	if len(list) != 1 {
		t.Errorf("further warnings: %+v", list)
	}
	return &list[i]
}

// TestRules: what breaks a rule warns with count, times and sentence; what just keeps it does not.
func TestRules(t *testing.T) {
	graph := func(mode record.GraphMode, bucket, padding int64) func(*record.Step) {
		return func(s *record.Step) {
			s.Has |= record.HasGraph
			s.DecodeBatchSize = 4
			s.Graph = record.Graph{Mode: mode, BucketTokens: bucket, PaddingTokens: padding}
		}
	}
	tests := []struct {
		name        string
		rule        Rule
		steps       int
		change      func(i int) func(*record.Step)
		count       int64 // 0: no warning
		first, last int   // steps
		active      bool
		says        string
	}{
		{"nothing", KVFull, 300, nil, 0, 0, 0, false, ""},
		{"KV at the edge", KVFull, 9, func(i int) func(*record.Step) {
			return func(s *record.Step) { s.KV.Usage = []float64{0.94, 0.95, 0.9499}[i%3] }
		}, 3, 2, 8, false, "95"},
		{"KV full now", KVFull, 5, func(i int) func(*record.Step) { return func(s *record.Step) { s.KV.Usage = float64(i) / 4 } }, 1, 5, 5, true, "100"},
		{"deferred while some run", Blocked, 5, func(int) func(*record.Step) { return func(s *record.Step) { s.Queues.Deferred = 3 } }, 0, 0, 0, false, ""},
		{"deferred while none runs", Blocked, 5, func(i int) func(*record.Step) {
			return func(s *record.Step) { s.Queues = record.Queues{Deferred: int64(i)} }
		}, 4, 2, 5, true, "up to 4 are deferred"},
		{"drops", Dropped, 6, func(i int) func(*record.Step) {
			return func(s *record.Step) {
				if i == 3 {
					s.DroppedBefore = 7
					s.StepIndex += 7
				}
			}
		}, 7, 4, 4, false, "could not keep"},
		{"a gap", Gaps, 6, func(i int) func(*record.Step) {
			return func(s *record.Step) {
				if i == 2 {
					s.StepIndex += 5
				}
			}
		}, 1, 3, 3, false, "missing"},
		{"a stall", Stall, 8, func(i int) func(*record.Step) {
			return func(s *record.Step) {
				if i == 5 {
					s.SubmitMonoNS -= 700 * ms // waited for since long before the step in front of it completed
					s.CompleteMonoNS += 450 * ms
				}
			}
		}, 1, 6, 6, false, "550 ms"},
		{"requests that no step was made for", Stall, 8, func(i int) func(*record.Step) {
			return func(s *record.Step) {
				if i == 5 {
					s.DecodeBatchSize = 3
				}
				if i >= 5 {
					s.SubmitMonoNS, s.CompleteMonoNS = s.SubmitMonoNS+26_000*ms, s.CompleteMonoNS+26_000*ms
				}
			}
		}, 1, 6, 6, false, "26.1 s"},
		{"nothing to do", Stall, 8, func(i int) func(*record.Step) {
			return func(s *record.Step) {
				if i >= 5 {
					s.DecodeBatchSize, s.SubmitMonoNS, s.CompleteMonoNS = 0, s.SubmitMonoNS+26_000*ms, s.CompleteMonoNS+26_000*ms
				}
			}
		}, 0, 0, 0, false, ""},
		{"nine preemptions", Thrash, 90, func(i int) func(*record.Step) {
			return func(s *record.Step) {
				if i < 9 {
					s.Preemptions = 1
				}
			}
		}, 0, 0, 0, false, ""},
		{"twelve preemptions", Thrash, 30, func(i int) func(*record.Step) {
			return func(s *record.Step) {
				if i < 12 {
					s.Preemptions = 1
				}
			}
		}, 12, 10, 12, true, "12 preemptions in 10 s"},
		{"prefill steps may miss", GraphMisses, 250, func(int) func(*record.Step) {
			return func(s *record.Step) { graph(record.GraphNone, 0, 0)(s); s.PrefillRequests = 1 }
		}, 0, 0, 0, false, ""},
		{"every fifth decode step misses", GraphMisses, 150, func(i int) func(*record.Step) {
			if i%5 == 0 {
				return graph(record.GraphNone, 0, 0)
			}
			return graph(record.GraphFull, 8, 0)
		}, 20, 99, 99, true, "20"},
		{"few steps say nothing of shares", GraphMisses, 40, func(int) func(*record.Step) { return graph(record.GraphNone, 0, 0) }, 0, 0, 0, false, ""},
		{"half of the tokens are padding", Padding, 150, func(int) func(*record.Step) { return graph(record.GraphFull, 8, 4) }, 1, 99, 99, true, "50"},
		{"a quarter is not worth it", Padding, 150, func(int) func(*record.Step) { return graph(record.GraphFull, 8, 2) }, 0, 0, 0, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFeeder(Default())
			for i := range tt.steps {
				var change func(*record.Step)
				if tt.change != nil {
					change = tt.change(i)
				}
				f.next(change)
			}
			w := f.warning(t, tt.rule)
			if tt.count == 0 {
				if w != nil {
					t.Fatalf("warns: %+v", *w)
				}
				return
			}
			if w == nil {
				t.Fatalf("no warning in %+v", f.w.Warnings())
			}
			at := func(step int) int64 { return t0 + int64(step)*100*ms }
			if w.Count != tt.count || w.Active != tt.active || w.FirstNS != at(tt.first) || w.LastNS != at(tt.last) || w.Engine != "dp0" {
				t.Errorf("%+v, want count %d, %d to %d, active %v", *w, tt.count, at(tt.first), at(tt.last), tt.active)
			}
			if !strings.Contains(w.Text(), tt.says) || w.Unit == "" {
				t.Errorf("says %q, want %q", w.Text(), tt.says)
			}
		})
	}
}

// TestGraphsOff: a server that was told to run without CUDA graphs misses none; one that captured some does.
func TestGraphsOff(t *testing.T) {
	for _, mode := range []string{"NONE", "FULL_AND_PIECEWISE", "PIECEWISE", ""} {
		f := newFeeder(Default())
		f.w.Header(0, &record.Header{GraphMode: mode})
		for range 300 {
			f.next(func(s *record.Step) {
				s.Has, s.DecodeBatchSize, s.Graph.Mode = s.Has|record.HasGraph, 4, record.GraphNone
			})
		}
		if got, want := f.warning(t, GraphMisses) != nil, mode != "NONE"; got != want {
			t.Errorf("cudagraph_mode %q: warned %t, want %t", mode, got, want)
		}
	}
}

// TestIdleEnds: what was judged over a window ends when the server has idled for as long as a window, and stays on record.
func TestIdleEnds(t *testing.T) {
	changes := map[Rule]func(*record.Step){
		GraphMisses: func(s *record.Step) {
			s.Has, s.DecodeBatchSize, s.Graph.Mode = s.Has|record.HasGraph, 4, record.GraphNone
		},
		Padding: func(s *record.Step) {
			s.Has, s.Graph = s.Has|record.HasGraph, record.Graph{Mode: record.GraphFull, BucketTokens: 8, PaddingTokens: 6}
		},
		Thrash: func(s *record.Step) { s.Preemptions = 3 },
	}
	for r, change := range changes {
		f := newFeeder(Default())
		for range 250 {
			f.next(change)
		}
		for _, tt := range []struct {
			behindNS int64
			active   bool
		}{{0, true}, {WindowNS - ms, true}, {WindowNS, false}, {5 * WindowNS, false}} {
			f.w.Publish(f.atNS + tt.behindNS)
			list := f.w.Warnings()
			if len(list) != 1 || list[0].Rule != r || list[0].Active != tt.active {
				t.Errorf("%s, %d s behind the last step: %+v, want active %t", r, tt.behindNS/sec, list, tt.active)
			}
		}
	}
}

// TestOff: a threshold of zero switches its rule off.
func TestOff(t *testing.T) {
	f := newFeeder(Thresholds{})
	for range 400 {
		f.next(func(s *record.Step) {
			s.KV.Usage, s.Preemptions = 1, 5
			s.Has, s.DecodeBatchSize = record.HasGraph, 1
			s.Graph = record.Graph{Mode: record.GraphNone, BucketTokens: 8, PaddingTokens: 8}
			s.SubmitMonoNS -= 5 * sec
			s.CompleteMonoNS += int64(s.StepIndex) * sec
		})
	}
	f.w.Publish(0)
	if got := f.w.Warnings(); len(got) != 0 {
		t.Errorf("warns: %+v", got)
	}
}

// TestPast: what was active is not, once the server has recovered; the warning stays.
func TestPast(t *testing.T) {
	f := newFeeder(Default())
	f.next(func(s *record.Step) { s.KV.Usage = 1 })
	if w := f.warning(t, KVFull); w == nil || !w.Active {
		t.Fatalf("got %+v", w)
	}
	f.next(nil)
	if w := f.warning(t, KVFull); w == nil || w.Active || w.Count != 1 {
		t.Fatalf("got %+v", w)
	}
}

// TestMerge: joining parts is the same in any order, and adds up.
func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := func(label string) []Warning {
			return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Warning {
				at := rapid.Int64Range(0, 50).Draw(t, "at")
				return Warning{
					Rule: Rule(rapid.IntRange(0, 3).Draw(t, "rule")), Engine: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "engine"),
					FirstNS: at, LastNS: at, Count: rapid.Int64Range(1, 9).Draw(t, "count"), Active: rapid.Bool().Draw(t, "active"),
				}
			}), 0, 8).Draw(t, label)
		}
		a, b := part("a"), part("b")
		one, other := Merge(a, b), Merge(b, a)
		if !slices.Equal(one, other) {
			t.Fatalf("%+v\n%+v", one, other)
		}
		var counted, want int64
		for _, w := range one {
			counted += w.Count
		}
		for _, w := range slices.Concat(a, b) {
			want += w.Count
		}
		if counted != want {
			t.Fatalf("count %d, want %d", counted, want)
		}
		if !slices.IsSortedFunc(one, func(a, b Warning) int {
			switch {
			case a.Active == b.Active:
				return 0
			case a.Active:
				return -1
			}
			return 1
		}) {
			t.Fatalf("active ones are not first: %+v", one)
		}
	})
}

// TestColumns: buckets tell the same kinds of trouble with the times of their steps.
func TestColumns(t *testing.T) {
	f := &store.Frame{BucketNS: 60 * sec, Engines: []store.Engine{{ID: "dp1"}}}
	long := 3 * sec
	for i := range 4 {
		c := store.Column{StartNS: t0 + int64(i)*60*sec}
		c.Counts = store.Counts{Steps: 100, FirstNS: c.StartNS + sec, LastNS: c.StartNS + 59*sec, KVUsageMax: 0.5}
		f.Columns = append(f.Columns, c)
	}
	f.Columns[1].Counts.KVUsageMax, f.Columns[3].Counts.KVUsageMax = 0.96, 0.99
	f.Columns[2].Counts.Stalls, f.Columns[2].Period.MaxNS = 2, &long
	f.Columns[2].Counts.Preemptions = 59 // ten in ten seconds would be 60
	f.Columns[0].Counts.Dropped = 4
	got := Columns(f, Default())
	want := []Warning{
		{Rule: Stall, Engine: "dp1", FirstNS: t0 + 121*sec, LastNS: t0 + 179*sec, Count: 2, Unit: "steps", Worst: float64(long)},
		{Rule: Dropped, Engine: "dp1", FirstNS: t0 + sec, LastNS: t0 + 59*sec, Count: 4, Unit: "records"},
		{Rule: KVFull, Engine: "dp1", FirstNS: t0 + 61*sec, LastNS: t0 + 239*sec, Count: 2, Unit: "steps", Worst: 0.99},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// Pauses between steps are in no period: of a column only their number is known, and only where the limit is not above theirs.
func TestPausesOfColumns(t *testing.T) {
	short := 20 * ms
	f := &store.Frame{BucketNS: 60 * sec, Columns: []store.Column{{StartNS: t0, Counts: store.Counts{Steps: 9, FirstNS: t0, LastNS: t0 + sec, Stalls: 2}}}}
	f.Columns[0].Period.MaxNS = &short
	for _, tt := range []struct{ limitNS, want int64 }{{0, 0}, {store.StallNS / 2, 2}, {store.StallNS, 2}, {store.StallNS + 1, 0}} {
		got := Columns(f, Thresholds{StallNS: tt.limitNS})
		if (len(got) > 0) != (tt.want > 0) || tt.want > 0 && (got[0].Count != tt.want || got[0].Text() != "no step completed for 500 ms or more") {
			t.Errorf("limit %d: %+v", tt.limitNS, got)
		}
	}
}

func TestStanding(t *testing.T) {
	f := &store.Frame{State: store.State{Name: "stalled", SinceNS: t0, StalledNS: 4 * sec}}
	if got := Standing(f, Default()); len(got) != 1 || !got[0].Active || !strings.Contains(got[0].Text(), "4.00 s") {
		t.Errorf("got %+v", got)
	}
	f.State = store.State{Name: "busy", SinceNS: t0}
	if got := Standing(f, Default()); got != nil {
		t.Errorf("got %+v", got)
	}
}

// TestEveryRuleSpeaks: name, unit, key and sentence of every rule are there and differ.
func TestEveryRuleSpeaks(t *testing.T) {
	seen := map[string]bool{}
	for r := range Rules {
		key, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{r.String(), Warning{Rule: r}.Text(), string(key)} {
			if s == "" || seen[s] && s != string(key) {
				t.Errorf("rule %d: %q", r, s)
			}
			seen[s] = true
		}
		if r.Unit() == "" {
			t.Errorf("%s counts nothing", r)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	f := newFeeder(Default())
	b.ReportAllocs()
	for b.Loop() {
		f.next(nil)
	}
}
