// Package tables says what an export's tables hold: one row a step, a line of another kind, a profiler window, a labelled iteration of a rank, and a
// kernel family of that.
package tables
