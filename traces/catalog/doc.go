// Package catalog keeps the profiler windows of a run: the markers of its Layer-1 records merged with the trace files of its folder. While
// the run is live, files are read as soon as whoever writes them has finished. One goroutine looks at the files; any goroutine may ask what
// is known.
package catalog
