package index

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"opprof/engine/store"
)

func TestProbeEstimatesTheRun(t *testing.T) {
	p := newPatched(t, "h200-tp1", 4*BlockSteps, 1<<40)
	size := int64(len(p.head) + 40*len(p.unit)) // 160 MB
	s, err := Probe(t.Context(), p, size, ProbeCount)
	if err != nil {
		t.Fatal(err)
	}
	parts := s.Parts("stream")
	if len(parts) != 1 || parts[0].Header == nil || parts[0].Header.Model == "" {
		t.Fatalf("parts %+v", parts)
	}
	want := p.day(t, 40)
	exact, err := want.Parts("stream")
	if err != nil {
		t.Fatal(err)
	}
	a, b := frameOf(store.Assemble(1, true, parts)), frameOf(store.Assemble(1, false, exact))
	if !a.Sampled || b.Sampled {
		t.Error("only the probed frame is sampled")
	}
	ga, gb := a.Run.Counts, b.Run.Counts
	for _, c := range []struct {
		what      string
		got, want int64
		within    float64
	}{
		{"steps", ga.Steps, gb.Steps, 0.02},
		{"decode tokens", ga.DecodeTokens, gb.DecodeTokens, 0.25}, // five probes in each repetition, always at the same places
		{"scheduled requests", ga.ScheduledRequests, gb.ScheduledRequests, 0.25},
		{"first step", ga.FirstNS - p.spanNS, gb.FirstNS - p.spanNS, 0.001},
		{"last step", ga.LastNS, gb.LastNS, 0.001},
	} {
		if math.Abs(float64(c.got-c.want)) > c.within*math.Abs(float64(c.want)) {
			t.Errorf("%s: %d, want %d within %g", c.what, c.got, c.want, c.within)
		}
	}
}

func frameOf(sn *store.Snapshot) *store.Frame { return sn.Frame(store.Query{Columns: 100}) }

func TestProbeFindsSteps(t *testing.T) {
	p := newPatched(t, "h200-tp1", 4*BlockSteps, 1<<40)
	size := int64(len(p.head) + 300*len(p.unit)) // 1.2 GB
	read := &counting{ReaderAt: p}
	s, err := Probe(t.Context(), read, size, ProbeCount)
	if err != nil {
		t.Fatal(err)
	}
	if limit := int64(2 * (ProbeCount*probeBytes + tailBytes)); read.bytes > limit {
		t.Errorf("probes read %d bytes, want at most %d", read.bytes, limit)
	}
	id := s.points[0].steps[0].EngineID
	x := p.day(t, 300)
	for _, step := range []int64{1, 2, 777, 4096, 4097, 500_000, 1_000_003, 300*4096 - 1, 300 * 4096} {
		step += patchedFirstStep - 1
		want, ok, err := x.AtStep(t.Context(), p, id, step)
		if err != nil || !ok {
			t.Fatal(err, ok)
		}
		read.bytes = 0
		got, ok, err := s.AtStep(t.Context(), read, id, step)
		if err != nil || !ok || got != want {
			t.Errorf("step %d at %d, %v, %v, want %d", step, got, ok, err, want)
		}
		if read.bytes > 1<<20 {
			t.Errorf("step %d: %d bytes read", step, read.bytes)
		}
		a, err := s.StepsAround(t.Context(), read, id, want, 1000)
		if err != nil {
			t.Fatal(err)
		}
		q, found := a.Before, false
		for i := range a.Steps {
			found = q.Next(&a.Steps[i]).TimeNS == want && a.Steps[i].StepIndex == step || found
		}
		if !found || len(a.Steps) > 1500 {
			t.Errorf("step %d is not among %d steps around it", step, len(a.Steps))
		}
	}
	if _, ok, err := s.AtStep(t.Context(), p, id, 5); ok || err != nil {
		t.Errorf("a step that is not there: %v, %v", ok, err)
	}
}

func TestProbeOfOddStreams(t *testing.T) {
	fault := errors.New("input/output error")
	if _, err := Probe(t.Context(), &faulty{strings.NewReader(strings.Repeat("x", 1<<20)), 1 << 19, fault}, 1<<20, 8); !errors.Is(err, fault) {
		t.Errorf("read error: %v", err)
	}
	for name, text := range map[string]string{
		"empty": "", "no newline": strings.Repeat("x", 4<<20), "zeros": strings.Repeat("\x00", 1<<20), "lines": strings.Repeat("bad\n", 1<<20), "one": "{",
	} {
		s, err := Probe(t.Context(), strings.NewReader(text), int64(len(text)), ProbeCount)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if parts := s.Parts("s"); len(parts) != 0 {
			t.Errorf("%s: parts %v", name, parts)
		}
		if a, err := s.StepsAround(t.Context(), strings.NewReader(text), "", 0, 10); err != nil || len(a.Steps) != 0 {
			t.Errorf("%s: %d steps, %v", name, len(a.Steps), err)
		}
	}
	for _, name := range recordings {
		data := recording(t, name)
		s, err := Probe(t.Context(), bytes.NewReader(data), int64(len(data)), ProbeCount)
		if err != nil {
			t.Fatal(err)
		}
		o := newOracle(t, data)
		f := frameOf(store.Assemble(1, true, s.Parts(name)))
		got, want := f.Run.Counts, o.steps[len(o.steps)-1].at.TimeNS
		if got.LastNS != want || got.FirstNS != o.steps[0].at.TimeNS || math.Abs(float64(got.Steps)/float64(len(o.steps))-1) > 0.1 {
			t.Errorf("%s: %d steps to %d, want %d to %d", name, got.Steps, got.LastNS, len(o.steps), want)
		}
		if len(f.Engines) != 1 || f.Engines[0].Footer == nil {
			t.Errorf("%s: engines %+v", name, f.Engines)
		}
	}
}
