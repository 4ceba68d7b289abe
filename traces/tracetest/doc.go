// Package tracetest makes up profiler windows of servers with several ranks, for tests: every kernel's time and purpose is known, so that what
// is made of the files can be held against it.
package tracetest
