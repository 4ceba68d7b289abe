package supervisor

import "opprof/engine/journal"

// steady is a wall clock that no correction moves: the machine's monotonic clock, plus the difference of the two at the beginning. Deadlines
// and intervals hold through a jump of the wall clock, and times that the server took on the monotonic clock lie on the same axis.
type steady struct {
	clock    journal.Clock
	offsetNS int64
}

func newSteady(c journal.Clock) steady {
	return steady{clock: c, offsetNS: c.WallNS() - c.MonoNS()}
}

// now is in ns since 1970.
func (s steady) now() int64 { return s.clock.MonoNS() + s.offsetNS }

// at is a reading of the monotonic clock, in ns since 1970.
func (s steady) at(monoNS int64) int64 { return monoNS + s.offsetNS }
