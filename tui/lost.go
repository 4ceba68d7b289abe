package tui

import (
	"errors"
	"os"
)

// ErrLost is returned by Run when the terminal went away: its window was closed or the connection broke.
var ErrLost = errors.New("the terminal is gone")

// watchedFile is one direction of the terminal. The first error of a read or a write, the end of the input included, means that the
// terminal is gone: raw mode knows no end of input, and Bubble Tea goes on without one.
type watchedFile struct {
	*os.File
	lost func(error)
}

func (f watchedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	if err != nil {
		f.lost(err)
	}
	return n, err
}

func (f watchedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	if err != nil {
		f.lost(err)
	}
	return n, err
}
