package index

import (
	"bytes"
	"testing"

	"opprof/engine/record"
	"opprof/engine/store"
)

// Pauses between steps are found through the index, and counted in its blocks, although they are in no period.
func TestPausesAreFoundThroughTheIndex(t *testing.T) {
	const start, held = 1_790_000_000_000_000_000, 5_000_000_000
	var data []byte
	var want []int64
	mono := int64(1_000_000)
	for i := int64(1); i <= 5*BlockSteps; i++ {
		s := record.Step{EngineID: "dp0-pid1", StepIndex: i, ScheduledRequests: 1, DecodeBatchSize: 1, DecodeTokens: 1, ModelExecuted: true}
		paused := i == 700 || i == 4*BlockSteps+3
		if paused || i == 1500 {
			mono += held
		}
		if i == 1500 { // nothing to do
			s.DecodeBatchSize, s.DecodeTokens, s.PrefillRequests, s.PrefillTokens, s.Chunks.Unsplit, s.Chunks.Tokens = 0, 0, 1, 1, 1, 1
		}
		s.SubmitMonoNS, s.SubmitWallNS, s.CompleteMonoNS = mono, start+mono, mono+1_000_000
		mono = s.CompleteMonoNS
		if paused {
			want = append(want, start+mono)
		}
		data = append(record.Append(data, &record.Line{Kind: record.KindStep, Step: s}), '\n')
	}
	x := indexed(t, data)
	checkIndex(t, x, data)
	var got []int64
	for from := int64(0); ; {
		at, ok, err := x.Find(t.Context(), bytes.NewReader(data), store.EventStall, "", from, true)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		got, from = append(got, at), at
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("stalls at %v, want %v", got, want)
	}
	var stalls, blocks int64
	for _, b := range x.blocks {
		stalls += b.Stalls
		blocks += min(b.Stalls, 1)
	}
	if stalls != 2 || blocks != 2 {
		t.Errorf("%d stalls in %d blocks", stalls, blocks)
	}
}
