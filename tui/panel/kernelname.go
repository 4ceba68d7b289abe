package panel

import (
	"strings"

	"opprof/tui/chart"
)

// KernelName shortens a kernel's name for a column: its own name without return type, namespaces and parameters, and the name of its first
// template argument that is a type, which tells a wrapper's kernels apart: device_kernel<FlashAttnFwdSm90>.
func KernelName(name string) string {
	s := strings.ReplaceAll(chart.Sanitize(name), "(anonymous namespace)", "anonymous")
	s = strings.TrimPrefix(s, "void ")
	outer, rest, templated := strings.Cut(s, "<")
	if i := strings.IndexByte(outer, '('); i > 0 {
		outer, templated = outer[:i], false
	}
	short := lastName(strings.TrimSpace(outer))
	if short == "" {
		return s
	}
	if inner := firstType(rest); templated && inner != "" {
		short += "<" + inner + ">"
	}
	return short
}

// lastName is a name without its namespaces.
func lastName(s string) string {
	if i := strings.LastIndex(s, "::"); i >= 0 {
		return s[i+len("::"):]
	}
	return s
}

// firstType is the first name in the arguments of a template that is neither a number nor a word of the language.
func firstType(args string) string {
	for _, word := range strings.FieldsFunc(args, func(r rune) bool { return strings.ContainsRune("<>(), &*{}[]", r) }) {
		word = lastName(word)
		if word == "" || !isLetter(word[0]) || strings.HasPrefix(word, "enable_") {
			continue
		}
		switch word {
		case "void", "int", "bool", "float", "double", "char", "unsigned", "signed", "long", "short", "const", "typename", "true", "false", "nv_bfloat16", "half", "__half",
			"BFloat16", "Half", "bfloat16", "uint32_t", "int32_t", "int64_t", "uint8_t", "int8_t", "anonymous", "__nv_bfloat16", "bfloat16_t", "half_t":
			continue
		}
		return word
	}
	return ""
}

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
