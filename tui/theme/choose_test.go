package theme_test

import (
	"strings"
	"testing"

	"opprof/tui/theme"
)

func TestChoose(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		env    string // NAME=value pairs, blank between
		prefs  theme.Prefs
		want   string
		glyphs string // "unicode", "no braille" or "ascii"
	}{
		{"TERM=xterm-256color LANG=en_US.UTF-8", theme.Prefs{}, "dark", "unicode"},
		{"TERM=xterm-256color LANG=en_US.utf8", theme.Prefs{Light: &yes}, "light", "unicode"},
		{"TERM=xterm-256color", theme.Prefs{}, "dark", "unicode"},
		{"TERM=xterm-256color COLORFGBG=0;15", theme.Prefs{}, "light", "unicode"},
		{"TERM=xterm-256color COLORFGBG=0;default;15", theme.Prefs{}, "light", "unicode"},
		{"TERM=xterm-256color COLORFGBG=15;0", theme.Prefs{}, "dark", "unicode"},
		{"TERM=xterm-256color COLORFGBG=0;15", theme.Prefs{Light: &no}, "dark", "unicode"},
		{"TERM=xterm-256color LANG=C", theme.Prefs{}, "dark", "ascii"},
		{"TERM=xterm-256color LANG=en_US.UTF-8 LC_ALL=POSIX", theme.Prefs{}, "dark", "ascii"},
		{"TERM=xterm-256color LANG=C LC_CTYPE=C.UTF-8", theme.Prefs{}, "dark", "unicode"},
		{"TERM=xterm-256color LANG=C", theme.Prefs{Glyphs: "unicode"}, "dark", "unicode"},
		{"TERM=xterm-256color", theme.Prefs{Glyphs: "ascii"}, "dark", "ascii"},
		{"TERM=xterm", theme.Prefs{}, "16-dark", "unicode"},
		{"TERM=xterm COLORTERM=truecolor", theme.Prefs{}, "dark", "unicode"},
		{"TERM=screen", theme.Prefs{Light: &yes}, "16-light", "unicode"},
		{"TERM=tmux-256color", theme.Prefs{}, "dark", "unicode"},
		{"TERM=xterm-kitty", theme.Prefs{}, "dark", "unicode"},
		{"TERM=linux", theme.Prefs{}, "16-dark", "no braille"},
		{"TERM=vt220 LANG=en_US.UTF-8", theme.Prefs{}, "mono", "ascii"},
		{"TERM=vt220", theme.Prefs{Color: "always"}, "16-dark", "ascii"},
		{"TERM=dumb COLORTERM=truecolor", theme.Prefs{}, "plain", "ascii"},
		{"TERM=dumb", theme.Prefs{Theme: "light"}, "plain", "ascii"},
		{"", theme.Prefs{}, "plain", "ascii"},
		{"TERM=dumb", theme.Prefs{Color: "always"}, "16-dark", "ascii"},
		{"TERM=xterm-256color NO_COLOR=1", theme.Prefs{}, "mono", "unicode"},
		{"TERM=xterm-256color NO_COLOR=yes", theme.Prefs{}, "mono", "unicode"},
		{"TERM=xterm-256color NO_COLOR=0", theme.Prefs{}, "mono", "unicode"},
		{"TERM=xterm-256color NO_COLOR=", theme.Prefs{}, "dark", "unicode"},
		{"TERM=xterm-256color NO_COLOR=1", theme.Prefs{Theme: "light"}, "mono", "unicode"},
		{"TERM=xterm-256color NO_COLOR=1", theme.Prefs{Color: "always"}, "dark", "unicode"},
		{"TERM=xterm-256color", theme.Prefs{Color: "never"}, "mono", "unicode"},
		{"TERM=xterm-256color", theme.Prefs{Color: "never", Theme: "plain"}, "plain", "unicode"},
		{"TERM=xterm-256color", theme.Prefs{Theme: "colorblind"}, "colorblind-dark", "unicode"},
		{"TERM=xterm-256color", theme.Prefs{Theme: "colorblind", Light: &yes}, "colorblind-light", "unicode"},
		{"TERM=xterm-256color", theme.Prefs{Theme: "16", Light: &yes}, "16-light", "unicode"},
		{"TERM=xterm", theme.Prefs{Theme: "dark"}, "dark", "unicode"},
		{"TERM=xterm-256color", theme.Prefs{Theme: "auto", Color: "auto", Glyphs: "auto"}, "dark", "unicode"},
	} {
		vars := map[string]string{}
		for pair := range strings.FieldsSeq(c.env) {
			name, value, _ := strings.Cut(pair, "=")
			vars[name] = value
		}
		got, err := theme.Choose(func(name string) string { return vars[name] }, c.prefs)
		if err != nil {
			t.Errorf("%q %+v: %v", c.env, c.prefs, err)
			continue
		}
		glyphs := "unicode"
		switch {
		case got.Glyphs.ASCII:
			glyphs = "ascii"
		case !got.Glyphs.Braille:
			glyphs = "no braille"
		}
		if got.Name != c.want || glyphs != c.glyphs {
			t.Errorf("%q %+v: got %s %s, want %s %s", c.env, c.prefs, got.Name, glyphs, c.want, c.glyphs)
		}
	}
}

func TestChooseRefusesUnknownNames(t *testing.T) {
	env := func(string) string { return "" }
	for _, c := range []struct {
		prefs theme.Prefs
		want  string
	}{
		{theme.Prefs{Theme: "drak"}, `unknown theme "drak": use auto, 16, colorblind, dark, light`},
		{theme.Prefs{Color: "sometimes"}, `unknown color "sometimes": use auto, always, never`},
		{theme.Prefs{Glyphs: "utf8"}, `unknown glyphs "utf8": use auto, unicode, ascii`},
	} {
		if _, err := theme.Choose(env, c.prefs); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %s", c.prefs, err, c.want)
		}
	}
	for _, th := range theme.All() {
		if got, ok := theme.ByName(th.Name); !ok || got.Name != th.Name {
			t.Errorf("%s is not found by its name", th.Name)
		}
	}
	if _, ok := theme.ByName("auto"); ok {
		t.Error("auto is a theme")
	}
	for _, name := range theme.Names() {
		if _, err := theme.Choose(env, theme.Prefs{Theme: name}); err != nil {
			t.Errorf("%s is listed and refused: %v", name, err)
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	env := func(name string) string { return map[string]string{"TERM": "xterm-256color"}[name] }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := theme.Choose(env, theme.Prefs{}); err != nil {
			b.Fatal(err)
		}
	}
}
