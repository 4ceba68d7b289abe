// Package store keeps what a run's steps say: the recent steps packed in a ring, older time in roll-ups, and immutable snapshots from
// which frames for the screen are computed. One goroutine adds; any goroutine reads snapshots. Memory is flat however long a run is.
package store
