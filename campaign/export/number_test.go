package export

import (
	"testing"

	"opprof/campaign/export/windows"
	"opprof/traces/catalog"
)

// Rows of windows that nobody armed have numbers that no other window has.
func TestNumbersOfRows(t *testing.T) {
	for _, c := range []struct {
		number, stray int
		want          int64
	}{{3, 0, 3}, {0, 1, -1}, {0, 12, -12}} {
		if got := number(&windows.Window{Window: catalog.Window{Number: c.number, Stray: c.stray}}); got != c.want {
			t.Errorf("number %d, stray %d: %d, want %d", c.number, c.stray, got, c.want)
		}
	}
}
