package panel

import "testing"

func TestHeadOfNoExperts(t *testing.T) {
	if got := (ExpertCells{Experts: 0, Each: 1}).Head(40); got != "experts" {
		t.Errorf("head %q", got)
	}
}
