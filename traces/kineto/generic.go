package kineto

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// generic reads an event of any layout: keys in any order, any white space, numbers as text. It returns why it could not, or "".
func (s *scanner) generic(ev []byte) string {
	f := &s.fields
	*f = fields{}
	if why := walk(ev, f.top); why != "" {
		return why
	}
	if f.marker() {
		s.endMarker()
		return ""
	}
	if len(f.ph) > 0 && string(f.ph) != "X" {
		return ""
	}
	k, class := kindOf(f.cat)
	switch k {
	case skip:
		return ""
	case cpuOp:
		s.t.CPUOps++
		return ""
	}
	if f.name == nil {
		return fmt.Sprintf("a %s event without a name", f.cat)
	}
	return s.keep(k, class, ev)
}

// top takes one member of an event.
func (f *fields) top(key, value []byte) string {
	switch string(key) {
	case "ph":
		f.ph = text(value)
	case "cat":
		f.cat = text(value)
	case "name":
		f.name = text(value)
	case "pid":
		f.pid = text(value)
	case "tid":
		f.tid = text(value)
	case "ts":
		f.ts = text(value)
	case "dur":
		f.dur = text(value)
	case "args":
		if len(value) > 0 && value[0] == '{' {
			f.haveArgs = true
			return walk(value, f.argument)
		}
	}
	return ""
}

// argument takes one member of an event's arguments.
func (f *fields) argument(key, value []byte) string {
	switch string(key) {
	case "correlation":
		f.correlation = text(value)
	case "stream":
		f.stream = text(value)
	case "device":
		f.dev = text(value)
	case "grid":
		f.grid = bytes.Trim(value, "[] ")
	case "block":
		f.block = bytes.Trim(value, "[] ")
	}
	return ""
}

// marker reports whether this is the instant that the profiler writes last.
func (f *fields) marker() bool {
	return len(f.ph) == 1 && f.ph[0] != 'X' && string(f.name) == "Record Window End"
}

func (s *scanner) endMarker() {
	if ts, ok := parseNS(s.fields.ts); ok {
		s.t.EndNS = ts
	}
}

// text is a string's inside, or any other value as it is.
func text(v []byte) []byte {
	if len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' {
		return v[1 : len(v)-1]
	}
	return v
}

// walk calls each for the members of the object b, values raw. It returns what is wrong with the object, or "".
func walk(b []byte, each func(key, value []byte) string) string {
	i := blank(b, 1)
	for i < len(b) && b[i] != '}' {
		if b[i] != '"' {
			return fmt.Sprintf("expected a key, found %q", b[i])
		}
		var m matcher
		n := m.end(b[i:], 0)
		if n < 0 {
			return "a key does not end"
		}
		key := b[i+1 : i+n-1]
		if i = blank(b, i+n); i >= len(b) || b[i] != ':' {
			return fmt.Sprintf("expected : after key %.40q", key)
		}
		i = blank(b, i+1)
		m = matcher{}
		if n = m.end(b[i:], 0); n < 1 {
			return fmt.Sprintf("the value of %.40q does not end", key)
		}
		if why := each(key, b[i:i+n]); why != "" {
			return why
		}
		i = blank(b, i+n)
		switch {
		case i < len(b) && b[i] == ',':
			i = blank(b, i+1)
		case i < len(b) && b[i] == '}':
		case i < len(b) && b[i] == '"': // a missing comma loses nothing
		default:
			return fmt.Sprintf("expected , or } after the value of %.40q", key)
		}
	}
	if i >= len(b) {
		return "an object does not end"
	}
	return ""
}

func blank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// unescape resolves JSON escapes; an invalid escape, such as a path's single backslash, stands for itself.
func unescape(s string) string {
	var out string
	if json.Unmarshal([]byte(`"`+s+`"`), &out) == nil {
		return out
	}
	return strings.ReplaceAll(s, `\"`, `"`)
}
