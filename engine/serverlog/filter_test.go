package serverlog

import (
	"fmt"
	"testing"
)

// TestFilter is a table of facts: what a text lets through, and what is marked of it.
func TestFilter(t *testing.T) {
	for _, tt := range []struct {
		filter, line string
		passes       bool
		spans        string
	}{
		{"kv", "GPU KV cache", true, "[[4 6]]"},
		{"KV", "GPU KV cache", true, "[[4 6]]"},
		{"KV", "gpu kv cache", false, "[]"},
		{"", "anything", true, "[]"},
		{"a.b", "a.b axb", true, "[[0 3]]"},
		{"/a.b/", "A.B axb", true, "[[0 3] [4 7]]"},
		{"/A.b/", "A.b axb", true, "[[0 3]]"},
		{"/^w.*d$/", "word", true, "[[0 4]]"},
		{"/x*/", "abc", true, "[]"},
		{"//", "a//b", true, "[[1 3]]"},
		{"/", "a/b", true, "[[1 2]]"},
		{"übung", "ÜBUNG", true, "[[0 6]]"},
		{"a", "xxxx\xff\xfea", true, "[[6 7]]"},
		{"aa", "aaaa", true, "[[0 2] [2 4]]"},
	} {
		f := Filter{Text: tt.filter}
		m, err := f.matcher()
		if err != nil {
			t.Errorf("%q: %v", tt.filter, err)
			continue
		}
		if got := m.holds([]byte(tt.line)); got != tt.passes {
			t.Errorf("%q lets %q through: %v", tt.filter, tt.line, got)
		}
		if got := fmt.Sprint(f.Spans(tt.line, 9)); got != tt.spans {
			t.Errorf("%q in %q: %s, want %s", tt.filter, tt.line, got, tt.spans)
		}
	}
	if (Filter{Text: "/(/"}).Check() == nil {
		t.Error("a broken expression is taken")
	}
	if got := (Filter{Text: "a"}).Spans("aaaa", 2); len(got) != 2 {
		t.Errorf("%d spans of at most two", len(got))
	}
}
