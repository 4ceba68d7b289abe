package process

import "testing"

func TestVariable(t *testing.T) {
	environ := []string{"A=1", "AB=2", "A=3=4", "EMPTY=", "NOTHING"}
	for _, c := range []struct {
		name, value string
		set         bool
	}{{"A", "3=4", true}, {"AB", "2", true}, {"EMPTY", "", true}, {"NOTHING", "", false}, {"B", "", false}} {
		if value, set := Variable(environ, c.name); value != c.value || set != c.set {
			t.Errorf("%s: %q, %t", c.name, value, set)
		}
	}
}
