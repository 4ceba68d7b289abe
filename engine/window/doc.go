// Package window decides about the profiler windows of one run: when an armed window starts, when its stop is sent, when its files are
// all there, and whether it is what was asked for. It is a state machine without clock, files or sockets: facts go in as method calls,
// decisions come out as actions for the owner to carry out. One goroutine owns a Controller.
//
// A window of the default settings is max_iterations steps without a torch schedule. The worker stops its profiler by itself at the step
// after the last, and the export stalls serving; a stop is sent nevertheless, always and once, since without it the next start is
// silently ignored (vllm/profiler/wrapper.py).
package window
