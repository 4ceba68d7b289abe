// Package compact replaces Layer-1 files that are complete by compressed ones that are read as fast (engine/frames).
//
// At every moment, also after a kill or a loss of power, the plain file or a whole compressed one has a name. The compressed copy is written
// under a hidden name, read back, compared with what was read of the plain file, brought to the disk and named; only then is the plain file
// removed. Whoever comes after a kill removes what is left of the copy, or ends what was begun.
package compact
