// Package serverlog follows the log of a vLLM server, however large it becomes, and answers questions about it: the lines around a place
// or a moment, the lines that a filter lets through, errors and warnings, and what the server said about itself while it started.
//
// A Log has one writer, the goroutine that calls Poll. It keeps the newest lines in memory, and of all others no more than a sparse list
// of offsets, so that its memory does not grow with the file. What it knows is published as immutable States by version. Look answers
// questions from any goroutine; it reads older parts of the file again when they are asked for.
package serverlog
