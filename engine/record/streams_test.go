package record

import (
	"bytes"
	"testing"

	"opprof/testdata"
)

// stream returns one of the recorded streams whole.
func stream(t testing.TB, name string) []byte {
	t.Helper()
	b, err := testdata.Recording(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRecordedStreams(t *testing.T) {
	gap := func(first int64, detail string) map[string]Violation {
		return map[string]Violation{"index_gap": {Count: 1, FirstStep: first, Detail: detail}}
	}
	for _, c := range []struct {
		name       string
		steps      int64
		violations map[string]Violation
	}{
		{"h200-tp1", 6018, gap(5941, "step_index went from 4413 to 5941: 1527 steps are missing, 0 of them reported as dropped")},
		{"h200-tp2", 7083, gap(7130, "step_index went from 5080 to 7130: 2049 steps are missing, 0 of them reported as dropped")},
		{"h200-tp2-eager", 548, nil},
		{"h200-tp1-experts", 673, nil},
		{"h200-tp1-literal", 1990, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, check := NewReader(bytes.NewReader(stream(t, c.name)), c.name), NewChecker()
			for r.Scan() {
				if r.Line().Kind == KindBad {
					t.Error(r.Line().Err)
				}
				check.Add(r.Line())
			}
			if err := r.Err(); err != nil {
				t.Fatal(err)
			}
			got := check.Result()
			if got.Steps != c.steps || got.BadLines != 0 || got.MissingFooter || got.WallJumps != 0 || got.Dropped != 0 {
				t.Errorf("got %+v", got)
			}
			if len(got.Violations) != len(c.violations) {
				t.Errorf("violations %v, want %v", got.Violations, c.violations)
			}
			for name, want := range c.violations {
				if got.Violations[name] != want {
					t.Errorf("%s: %+v, want %+v", name, got.Violations[name], want)
				}
			}
			if s := r.Stats(); s.Fallback != 0 {
				t.Errorf("%d steps took the scanner, want none", s.Fallback)
			}
		})
	}
}
