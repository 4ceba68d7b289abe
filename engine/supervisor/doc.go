// Package supervisor owns one server from its start to its last process: the journal that says what happened, the state that is true now,
// the profiler windows, and a socket on which its clients see all of it. It lives in a session of its own, so that a terminal, a
// connection or a client that goes away changes nothing, and another supervisor can take over when it is killed itself.
//
// One goroutine, the loop, owns all state. Whatever waits (a request to the server, a file, the journal's disk, a process) waits in a
// goroutine of its own and posts what it found to the loop.
package supervisor
