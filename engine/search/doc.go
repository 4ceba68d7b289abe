// Package search finds the steps of a run that an expression of package query matches, and counts them, in files of any length: where a
// stream has an index, blocks whose ranges exclude a match are not read; everything else is. The counts are those of asking every step.
//
// A Search may be extended while files grow, and be asked at any time by any goroutine for what was read until then.
package search
