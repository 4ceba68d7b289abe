// Package kineto reads torch-profiler (Kineto) traces: JSON, plain or compressed, of torch 1.8 to 2.11, on CUDA, ROCm or CPU alone.
//
// A trace is streamed: inflating runs beside scanning, an event is skipped as soon as its category shows that it is not needed, and what
// is kept is packed (32 bytes a device event), so a file of a gigabyte needs some tens of megabytes. Times are integer nanoseconds parsed
// from the text. A damaged event is lost, counted and located by its byte offset in the inflated stream; the file around it is not.
package kineto
