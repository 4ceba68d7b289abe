// Package session opens a run (live, finished, replayed, or a bare folder of files) and yields what the screen and `--once --json` show,
// so that both show the same values.
//
// A Session owns one goroutine: it polls the run's streams and is the only writer of the store. Screens ask for frames from any
// goroutine; a frame is computed from an immutable snapshot of the store.
package session
