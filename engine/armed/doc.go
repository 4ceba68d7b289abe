// Package armed tells which window of a run is which: a window has the number that it was armed under, whatever order the windows ran in. The
// journal and the windows' summaries know it; records and traces alone do not. Readers that show a window ask here, so that it has one number
// everywhere.
package armed
