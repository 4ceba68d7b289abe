// Package record holds the types of a Layer-1 file and reads them: one JSON line per scheduler step of a vLLM EngineCore, and the
// header, profile, dummy_step and footer lines around them (schema 1).
//
// A Reader streams lines from any io.Reader. A bad line is a record with its line number, byte offset and reason, never the end of the
// stream; only I/O errors end it. A Checker holds the invariants between and inside lines.
package record
