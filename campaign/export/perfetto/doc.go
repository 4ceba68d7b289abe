// Package perfetto writes the steps of a run, and the kernels of profiler windows, as one trace in the JSON format of Chrome, which
// ui.perfetto.dev and chrome://tracing open. All times are on the time axis of the steps, in microseconds with three decimals since a base that
// the file names, so that every nanosecond is exact; memory does not grow with the run.
package perfetto
