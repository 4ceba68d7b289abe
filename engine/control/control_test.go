package control

import "testing"

// TestWord is a table of facts: what people read of a server's state.
func TestWord(t *testing.T) {
	for _, tt := range []struct{ state, reason, want string }{
		{Dead, "stopped: ordered by a client", "stopped"},
		{Dead, "stopped while draining: the server was still there 60s after SIGTERM and was killed", "stopped"},
		{Dead, "the server ended by itself (exit code 1)", "dead"},
		{Dead, "", "dead"},
		{Stopping, "stopped: ordered by a client", "stopping"},
		{Busy, "", "busy"},
	} {
		if got := Word(tt.state, tt.reason); got != tt.want {
			t.Errorf("%s, %q: %s, want %s", tt.state, tt.reason, got, tt.want)
		}
	}
}
