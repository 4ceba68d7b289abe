package unit_test

import (
	"testing"

	"opprof/engine/unit"
)

func TestCounted(t *testing.T) {
	for _, c := range []struct {
		n    int
		noun string
		want string
	}{
		{0, "pair", "0 pairs"}, {1, "pair", "1 pair"}, {2, "pair", "2 pairs"}, {-1, "step", "-1 steps"}, {12345, "step", "12,345 steps"},
		{2, "process", "2 processes"}, {1, "process", "1 process"}, {3, "query", "3 queries"}, {2, "key", "2 keys"}, {2, "batch", "2 batches"},
		{2, "y", "2 ys"}, {2, "bad line", "2 bad lines"},
	} {
		if got := unit.Counted(c.n, c.noun); got != c.want {
			t.Errorf("Counted(%d, %q) = %q, want %q", c.n, c.noun, got, c.want)
		}
	}
}
