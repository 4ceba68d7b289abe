package compare

import (
	"testing"
)

func FuzzParseSpan(f *testing.F) {
	for _, s := range []string{"", "..", "1..2", "30s..2m", "2026-11-30T12:00:00Z..", "9..3", "1..2s", "-5..", "\x00..\xff", "99999999999999999999.."} {
		f.Add(s, int64(5))
	}
	f.Fuzz(func(t *testing.T, text string, at int64) {
		s, err := ParseSpan(text)
		if err != nil {
			return
		}
		if s.String() != text || s.from > s.to {
			t.Errorf("%q became %+v", text, s)
		}
		if s.unit == spanSteps && s.holds(at, 0, 0) != (s.from <= at && at <= s.to) {
			t.Errorf("%q holds %d: %t", text, at, s.holds(at, 0, 0))
		}
	})
}
