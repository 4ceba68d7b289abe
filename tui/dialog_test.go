package tui

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"opprof/engine/control"
	"opprof/tui/layout"
)

// TestFieldEdits is a table of facts: after these keys a field holds this.
func TestFieldEdits(t *testing.T) {
	for _, tt := range []struct{ name, text, keys, want string }{
		{"typed", "", "a b", "ab"},
		{"in the middle", "ac", "LEFT b", "abc"},
		{"backspace", "abc", "backspace", "ab"},
		{"backspace at the start", "abc", "home backspace", "abc"},
		{"delete", "abc", "home delete", "bc"},
		{"delete at the end", "abc", "delete", "abc"},
		{"a word", "kv.usage > 0.9", "ctrl+w", "kv.usage >"},
		{"to the start", "abc", "LEFT ctrl+u", "c"},
		{"the end again", "abc", "home end d", "abcd"},
		{"a blank", "ab", "LEFT space", "a b"},
		{"a word to the left", "ab cd", "ctrl+left x", "ab xcd"},
		{"what the clipboard holds is the terminal's to send", "ab", "ctrl+v", "ab"},
		{"no more than fits", "abcdefgh", "i j k", "abcdefghij"},
	} {
		f := newField(tt.text, 10, nil)
		if tt.name == "a word" {
			f = newField(tt.text, 40, nil)
		}
		for _, k := range strings.Fields(tt.keys) {
			if k == "LEFT" {
				f.move(-1)
				continue
			}
			f.key(press(k))
		}
		if got := f.String(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	f := newField("1000", 12, digit)
	f.proposed = true
	f.insert("5x0\x1b")
	if f.String() != "50" {
		t.Errorf("a proposal became %q", f.String())
	}
}

// A form and a question stay inside any screen, whatever is pressed, pasted and answered.
func TestDialogsAtAnySize(t *testing.T) {
	c := supervisedRun(t)
	s := orderedScreen(t, 120, 40, Options{}, c)
	known := []string{"tab", "shift+tab", "up", "down", "left", "right", "backspace", "delete", "home", "end", "space", "a", "9", "x", "&", "enter", "ctrl+u", "ctrl+w"}
	rapid.Check(t, func(t *rapid.T) {
		c.refuse = &control.Error{Text: "\x1b[2Jno\u202e 世界", Hint: strings.Repeat("long ", 80)}
		s.size(rapid.IntRange(0, 200).Draw(t, "w"), rapid.IntRange(0, 60).Draw(t, "h"))
		if rapid.Bool().Draw(t, "question") {
			s.m.dialog = s.m.stopQuestion()
		} else {
			s.m.dialog = s.m.newArmForm()
		}
		for range rapid.IntRange(0, 12).Draw(t, "n") {
			if s.m.dialog != nil && rapid.IntRange(0, 9).Draw(t, "paste") == 0 {
				s.m.pasted(rapid.String().Draw(t, "text"))
			}
			s.keys(rapid.SampledFrom(known).Draw(t, "key"))
			s.content()
		}
		if !layout.Fits(s.m.width, s.m.height) {
			return
		}
		for _, line := range strings.Split(s.plain(), "\n") {
			if utf8.RuneCountInString(line) != s.m.width || strings.ContainsAny(line, "\x1b\u202e") {
				t.Fatalf("%q at %d x %d", line, s.m.width, s.m.height)
			}
		}
	})
}
