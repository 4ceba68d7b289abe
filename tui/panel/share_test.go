package panel

import (
	"testing"

	"opprof/tui/theme"
)

// An unknown figure of a metric has no unit behind its dash.
func TestShareUnknown(t *testing.T) {
	if f := share("bound", nil, theme.RoleText); f != (field{"bound", "-", "", theme.RoleText}) {
		t.Errorf("unknown: %+v", f)
	}
	pct := -1.234
	if f := share("bound", &pct, theme.RoleText); f != (field{"bound", "-1.23", "%", theme.RoleText}) {
		t.Errorf("known: %+v", f)
	}
}
