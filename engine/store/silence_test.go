package store

import (
	"encoding/json"
	"testing"

	"opprof/engine/record"
)

// Every empty column says why it is empty: a table of facts about one engine with steps at 100 ms and something between two of them.
func TestSilence(t *testing.T) {
	at := func(i, submitNS, completeNS int64) *record.Line {
		l := step("dp0-pid1", i, completeNS)
		l.Step.SubmitMonoNS = l.Step.CompleteMonoNS - (completeNS - submitNS)
		l.Step.SubmitWallNS = wallNS + submitNS
		return l
	}
	decoding := func(l *record.Line) *record.Line {
		l.Step.DecodeBatchSize = 4
		return l
	}
	const ms = 1_000_000
	for _, c := range []struct {
		name   string
		second *record.Line
		q      Query
		want   Silence // of the column at 2 s
	}{
		{"a long step", at(2, 110*ms, 4000*ms), Query{}, SilenceStep},
		{"nothing to do", at(2, 3900*ms, 4000*ms), Query{}, SilenceIdle},
		{"requests that no step was made for", decoding(at(2, 3900*ms, 4000*ms)), Query{}, SilenceStep},
		{"steps without a record", at(7, 3900*ms, 4000*ms), Query{}, SilenceMissing},
		{"idle first, then a long step", at(2, 1900*ms, 4000*ms), Query{}, SilenceStep},
		{"behind a finished run", nil, Query{AtNS: wallNS + 3000*ms, SpanNS: 3000 * ms}, SilenceOutside},
		{"behind the newest step of a live run", nil, Query{NowNS: wallNS + 3000*ms, SpanNS: 8000 * ms}, SilenceStep},
	} {
		s := New(Options{})
		s.Line(0, at(1, 90*ms, 100*ms))
		if c.second != nil {
			s.Line(0, c.second)
		}
		c.q.Columns = 64
		f := s.Snapshot().Frame(c.q)
		seen := false
		for i := range f.Columns {
			col := &f.Columns[i]
			if (col.Counts.Steps > 0) != (col.Silence == SilenceNone) {
				t.Errorf("%s: column %d has %d steps and is %q", c.name, i, col.Counts.Steps, col.Silence)
			}
			if middle := int64(wallNS + 2000*ms); col.StartNS <= middle && middle < col.StartNS+f.BucketNS {
				seen = true
				if col.Silence != c.want {
					t.Errorf("%s: %q, want %q", c.name, col.Silence, c.want)
				}
			}
		}
		if !seen {
			t.Errorf("%s: 2 s is not in the picture", c.name)
		}
	}
}

func TestGraphStepsJSON(t *testing.T) {
	var g GraphSteps
	g[record.GraphFull], g[record.GraphUnknown] = 7, 2
	text, err := json.Marshal(g)
	if want := `{"FULL":7,"PIECEWISE":0,"NONE":0,"other":0,"unknown":2}`; err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
}

// What was computed again is no new token, and is known only where every step of the rates tells.
func TestNewDecodeRate(t *testing.T) {
	for _, told := range []bool{true, false} {
		s := New(Options{})
		for i := int64(1); i <= 1001; i++ {
			l := step("dp0-pid1", i, i*10e6)
			l.Step.DecodeTokens, l.Step.RecomputeTokens, l.Step.Has = 10, 6, l.Step.Has|record.HasRecompute
			if !told && i == 900 {
				l.Step.RecomputeTokens, l.Step.Has = 0, l.Step.Has&^record.HasRecompute
			}
			s.Line(0, l)
		}
		r := s.Snapshot().Frame(Query{Columns: 10}).Rates
		if r.RecomputeKnown != told || r.DecodeTokPerS != 1000 || told && (r.NewDecodeTokPerS != 400 || r.RecomputeTokPerS != 600) {
			t.Errorf("told %v: %+v", told, r)
		}
	}
}
