// Package calibrate learns from profiler windows what a step's kernels cost, by family, given what the step holds: a table of what was seen, and
// beside it a small model whose every term has a meaning and cannot be negative. Its errors are those on windows that it was not fitted to;
// steps of one window are too alike to check each other. It says when a question lies outside of what was seen.
package calibrate
