package windows

import (
	"context"
	"testing"

	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/traces/catalog"
	"opprof/traces/family"
	"opprof/traces/join"
	"opprof/traces/kineto"
	"opprof/traces/rank"
)

func header(id string, tp int64) *record.Line {
	return &record.Line{Kind: record.KindHeader, Header: record.Header{EngineID: id, TensorParallel: tp}}
}

func profile(id, action string, after, wallNS int64) *record.Line {
	return &record.Line{Kind: record.KindProfile, Profile: record.Profile{EngineID: id, Action: action, AfterStep: after, WallNS: wallNS, MonoNS: wallNS}}
}

func TestMarkersAloneAreWindows(t *testing.T) {
	m := NewMarkers()
	for _, l := range []*record.Line{header("dp0-pid1", 2), profile("dp0-pid1", record.ActionStart, 10, 1_000), profile("dp0-pid1", record.ActionStop, 20, 2_000),
		{Kind: record.KindStep, Step: record.Step{EngineID: "dp0-pid1", StepIndex: 21}}, profile("dp0-pid1", record.ActionStart, 40, 5_000)} {
		m.Add(0, l)
	}
	rules, err := family.Default()
	if err != nil {
		t.Fatal(err)
	}
	all, err := List(context.Background(), Source{Rules: rules}, m, nil)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d windows, %v", len(all), err)
	}
	for i, want := range []int64{10, 40} {
		if w := &all[i]; w.Number != i+1 || w.Engine != "dp0-pid1" || w.Marker.AfterStep != want || w.State != catalog.Recorded {
			t.Errorf("window %d is %+v", i+1, w)
		}
	}
}

// of is a window of a data-parallel rank; -1 is not known.
func of(dp int64) *join.Window {
	return &join.Window{Group: join.Group{Ranks: []*rank.Breakdown{{Rank: kineto.Rank{DP: dp}}}}}
}

func TestWhoseAWindowIs(t *testing.T) {
	for _, c := range []struct {
		name    string
		engines []string
		window  catalog.Window
		want    string
	}{
		{"its marker's", []string{"dp0-pid1", "dp1-pid2"}, catalog.Window{Marker: &store.Window{Engine: "dp1-pid2"}}, "dp1-pid2"},
		{"the only one", []string{"dp0-pid1"}, catalog.Window{Detail: of(-1)}, "dp0-pid1"},
		{"its rank's", []string{"dp0-pid1", "dp1-pid2"}, catalog.Window{Detail: of(1)}, "dp1-pid2"},
		{"a rank that began again", []string{"dp1-pid1", "dp1-pid2"}, catalog.Window{Detail: of(1)}, ""},
		{"nobody knows", []string{"dp0-pid1", "dp1-pid2"}, catalog.Window{}, ""},
		{"no engine", nil, catalog.Window{}, ""},
	} {
		m := NewMarkers()
		for _, id := range c.engines {
			m.Add(0, &record.Line{Kind: record.KindStep, Step: record.Step{EngineID: id}})
		}
		if got := m.engineOf(&c.window); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
