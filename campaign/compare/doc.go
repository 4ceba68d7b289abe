// Package compare sets two runs, or two spans of runs, against each other at equal composition: step by step of one kind against steps of
// the same kind, so that a different mix of work is not taken for a different speed.
//
// Steps are sorted into cells by graph mode, bucket, decode batch, prefill tokens and context length. A run is read once and leaves sums per
// cell and block in flat memory; the comparison is computed from those sums and draws no random numbers. The independent unit is a block of
// consecutive steps, never the step: neighbouring steps share their requests, clocks and caches.
package compare
