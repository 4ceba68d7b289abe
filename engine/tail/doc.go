// Package tail follows the Layer-1 files of a run while they grow, appear late, are cut, replaced, rotated or deleted, on a local disk or
// over NFS, plain or compressed.
//
// A stream is one base name and everything found under it: the file itself, rotated parts (x.jsonl.1) and compressed ones. Its parts are
// read one after the other, oldest first. What has been read is recognised by its bytes, never by size or inode alone: before each pass
// the first and the last bytes read are compared with the file. Equal bytes in another inode (a copy that was renamed into place) go on
// where reading stopped; after a cut reading goes on at the new end, other bytes are read from the first, and the Sink is told; an inode
// that was renamed away is read to its end before the next part is opened. A deleted file is closed when it has got nothing more for a while.
//
// A line is parsed when its newline is there, never half. The rest of a file after its last newline stays unread and is reported as torn;
// Flush hands it over when no more will come. A failed read is a status and is tried again at the next pass.
//
// One goroutine calls Poll, Run, Flush and Close. Any goroutine may call Streams and Progress.
package tail
