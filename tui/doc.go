// Package tui is the screen: a Bubble Tea program whose root model routes keys and ticks to one visible page. A page pulls a
// store.Frame from a Source at the tick, lets the panels draw it into rectangles of one grid, and the grid is rendered to one string.
// The package reads no files and no sockets.
package tui
