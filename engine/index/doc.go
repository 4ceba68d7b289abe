// Package index keeps a sidecar for a Layer-1 stream, so that a day-long file opens at once and any step of it is a short read away.
//
// The stream is cut into blocks of 1,024 steps. For each the index knows its bytes and lines, its steps and time, the smallest and largest
// value of the fields that are worth searching (Zone), the Sequence in front of it, so that a block decodes alone with exact step periods,
// and a store.Rollup. Rollups of 16 and 256 blocks serve overviews. Only whole lines are covered; what is behind the last full block
// stands in an open block that is never saved.
//
// A Builder reads forward with one reader and several decoders and may be resumed from a saved Index; Keep does so in the background while
// a file grows. The file is written whole and renamed into place, under a lock, and is a cache: it is believed only if its own checksums
// hold and the stream still begins and ends as it says, and deleting it costs a new build. Without it, Probe samples the stream.
//
// Everything works on an io.ReaderAt and a size; only Load, Save and Keep know paths. An Index is immutable and safe for any goroutine.
package index
