package process

import "strings"

// Variable finds a variable in an environment; the last of a name counts, as it does for a program.
func Variable(environ []string, name string) (value string, set bool) {
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value, set = v, true
		}
	}
	return value, set
}
