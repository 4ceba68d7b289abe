// Package rundir knows the files of one server run: where they lie, which of them exist, and what may be missing. It reads names and the
// manifest, never the streams themselves.
package rundir
