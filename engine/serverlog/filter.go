package serverlog

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"opprof/engine/vllm"
)

// Filter selects lines. The zero Filter lets every line through.
type Filter struct {
	// Text must occur in the line as it stands in the file, in any case of letters unless it has a capital one; between two slashes it is
	// a regular expression.
	Text string
	// Level is the least severity.
	Level vllm.Level
}

// All reports whether every line passes.
func (f Filter) All() bool { return f == Filter{} }

// Check says what is wrong with a filter.
func (f Filter) Check() error {
	_, err := f.matcher()
	return err
}

// matcher is a filter that is ready for use. It is not safe for concurrent use.
type matcher struct {
	level   vllm.Level
	all     bool // of texts
	text    []byte
	fold    bool
	pattern *regexp.Regexp
	scratch []byte
}

func (f Filter) matcher() (*matcher, error) {
	m := &matcher{level: f.Level, all: f.Text == ""}
	fold := strings.IndexFunc(f.Text, unicode.IsUpper) < 0
	if n := len(f.Text); n > 2 && f.Text[0] == '/' && f.Text[n-1] == '/' {
		expr := f.Text[1 : n-1]
		if fold {
			expr = "(?i)" + expr
		}
		p, err := regexp.Compile(expr)
		if err != nil {
			return nil, fmt.Errorf("not a regular expression: %s: %w", f.Text, err)
		}
		m.pattern = p
		return m, nil
	}
	m.text, m.fold = []byte(f.Text), fold
	return m, nil
}

func (m *matcher) matches(raw []byte, l *Line) bool { return l.Severity >= m.level && m.holds(raw) }

// holds reports whether a text passes.
func (m *matcher) holds(raw []byte) bool {
	switch {
	case m.all:
		return true
	case m.pattern != nil:
		return m.pattern.Match(raw)
	case m.fold:
		m.scratch = appendLower(m.scratch[:0], raw)
		return bytes.Contains(m.scratch, m.text)
	}
	return bytes.Contains(raw, m.text)
}

// appendLower appends s in small letters.
func appendLower(dst, s []byte) []byte {
	from := len(dst)
	dst = append(dst, s...)
	for i, c := range dst[from:] {
		switch {
		case c >= 'A' && c <= 'Z':
			dst[from+i] = c + 'a' - 'A'
		case c >= 0x80:
			return append(dst[:from], bytes.ToLower(s)...)
		}
	}
	return dst
}

// Spans are the parts of a text that the filter's text matches, as pairs of byte offsets, for a reader's eye. At most limit are returned.
func (f Filter) Spans(text string, limit int) [][2]int {
	m, err := f.matcher()
	if err != nil || m.all {
		return nil
	}
	pattern := m.pattern
	if pattern == nil {
		expr := regexp.QuoteMeta(f.Text)
		if m.fold {
			expr = "(?i)" + expr
		}
		if pattern, err = regexp.Compile(expr); err != nil {
			return nil
		}
	}
	var out [][2]int
	for _, at := range pattern.FindAllStringIndex(text, limit) {
		if at[1] > at[0] {
			out = append(out, [2]int{at[0], at[1]})
		}
	}
	return out
}
