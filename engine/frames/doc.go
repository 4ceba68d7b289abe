// Package frames keeps a stream of lines as zstd frames that each decompress alone, so that any byte of it is a short read away.
//
// A file is ordinary zstd: every tool for it reads the whole. Frames hold about FrameBytes and end at line ends. Behind them stands the seek
// table of the zstd seekable format (facebook/zstd, contrib/seekable_format), a skippable frame with the sizes of all others. A file that has no
// such table, or one that does not fit it, is ErrNotSeekable and can only be read from its start.
package frames
