// Package roster lists the runs of a folder with the figures of each: model, size, length, tokens, step period, losses, windows. Figures
// come from the manifest, and from the index of a stream, from a short stream as a whole or from samples of a long one. They are gathered in
// the background by few readers and kept in a cache until a file of the run changes. Any goroutine may ask what is known by now.
package roster
