package vllm

import "strings"

// Arg is one server argument by vLLM's own name, its value as Python prints it.
type Arg struct{ Name, Value string }

// parseArgs reads the members of a printed Python dictionary. Values stay text: they may be nested or of any type.
func parseArgs(dict string) []Arg {
	var out []Arg
	for _, member := range split(strings.TrimSuffix(strings.TrimPrefix(dict, "{"), "}"), ',') {
		parts := split(member, ':')
		if len(parts) < 2 {
			continue
		}
		name := strings.Trim(strings.TrimSpace(parts[0]), `'"`)
		value := strings.TrimSpace(member[len(parts[0])+1:])
		if n := len(value); n >= 2 && (value[0] == '\'' || value[0] == '"') && value[n-1] == value[0] && !strings.ContainsRune(value[1:n-1], rune(value[0])) {
			value = value[1 : n-1]
		}
		out = append(out, Arg{name, value})
	}
	return out
}

// split cuts at a separator that stands outside quotes and brackets.
func split(s string, sep byte) []string {
	var out []string
	depth, start := 0, 0
	var quote byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '{' || c == '[' || c == '(' || c == '<':
			depth++
		case c == '}' || c == ']' || c == ')' || c == '>':
			depth--
		case c == sep && depth <= 0:
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}
