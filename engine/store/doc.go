// Package store keeps what a run's steps say: the recent steps packed in a ring, older time in roll-ups, and immutable snapshots from
// which frames for the screen are computed. One goroutine adds; any goroutine reads snapshots. Memory is flat however long a run is.
//
// The time axis is wall-clock time by the monotonic clock (Sequence). Columns are whole buckets of a fixed ladder, so that a live axis
// moves in whole columns. Where all steps of a column are kept, its percentiles are exact by the nearest-rank rule; where only roll-ups
// are left they come from a sketch with a stated error (SketchErrorPct). Sums and extremes are exact in both.
package store
