package theme

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Prefs are the user's wishes. The zero value leaves every choice to the environment.
type Prefs struct {
	Theme  string // a name of Names, or "" or "auto"
	Color  string // "auto" or "", "always", "never"
	Glyphs string // "auto" or "", "unicode", "ascii"
	Light  *bool  // the terminal's answer about its background; nil while it has not answered
}

// entry is a theme that is made when it is asked for: making one computes a sequence per role and attribute.
type entry struct {
	name string
	make func() *Theme
}

// entries are in the order in which the theme key walks through them.
func entries() []entry {
	return []entry{
		{"dark", Dark}, {"light", Light}, {"16-dark", ANSI16Dark}, {"16-light", ANSI16Light},
		{"colorblind-dark", ColorBlindDark}, {"colorblind-light", ColorBlindLight}, {"mono", Mono}, {"plain", Plain},
	}
}

// All returns every theme, in the order in which the theme key walks through them.
func All() []*Theme {
	var all []*Theme
	for _, e := range entries() {
		all = append(all, e.make())
	}
	return all
}

// Names returns the names that Prefs.Theme takes besides "auto". "16" and "colorblind" go with the background.
func Names() []string {
	names := []string{"16", "colorblind"}
	for _, e := range entries() {
		names = append(names, e.name)
	}
	return names
}

// ByName returns the theme of that exact name, without "auto" and the short forms.
func ByName(name string) (*Theme, bool) {
	for _, e := range entries() {
		if e.name == name {
			return e.make(), true
		}
	}
	return nil, false
}

// Choose picks theme and glyphs for the terminal that env describes. A theme that is asked for by name wins over what env says about
// colours, except that a terminal without sequences gets none. The error says which preference is unknown and what it may be.
func Choose(env func(string) string, p Prefs) (*Theme, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	t := chooseTheme(env, p)
	if !useUnicode(env, p.Glyphs) {
		return t.WithGlyphs(ASCIIGlyphs()), nil
	}
	g := t.Glyphs
	g.Braille = env("TERM") != "linux" // the console's fonts hold 512 glyphs, none of them braille
	return t.WithGlyphs(g), nil
}

func (p Prefs) check() error {
	for _, c := range []struct {
		what, value string
		allowed     []string
	}{
		{"theme", p.Theme, Names()},
		{"color", p.Color, []string{"always", "never"}},
		{"glyphs", p.Glyphs, []string{"unicode", "ascii"}},
	} {
		if c.value == "" || c.value == "auto" || slices.Contains(c.allowed, c.value) {
			continue
		}
		return fmt.Errorf("unknown %s %q: use auto, %s", c.what, c.value, strings.Join(c.allowed, ", "))
	}
	return nil
}

func chooseTheme(env func(string) string, p Prefs) *Theme {
	depth := colorDepth(env)
	if depth == depthNone && p.Color != "always" {
		return Plain()
	}
	if p.Color == "never" || (p.Color != "always" && env("NO_COLOR") != "") {
		if p.Theme == "plain" {
			return Plain()
		}
		return Mono()
	}
	if t, ok := ByName(p.Theme); ok {
		return t
	}
	light := lightBackground(env)
	if p.Light != nil {
		light = *p.Light
	}
	switch {
	case p.Theme == "colorblind":
		return pick(light, ColorBlindLight, ColorBlindDark)
	case p.Theme == "16":
		return pick(light, ANSI16Light, ANSI16Dark)
	case depth == depthMono && p.Color != "always":
		return Mono()
	case depth == depth16 || depth == depthMono || depth == depthNone:
		return pick(light, ANSI16Light, ANSI16Dark)
	default:
		return pick(light, Light, Dark)
	}
}

func pick(light bool, yes, no func() *Theme) *Theme {
	if light {
		return yes()
	}
	return no()
}

type depth uint8

const (
	depthNone depth = iota // no sequences at all
	depthMono
	depth16
	depth256
)

// colorDepth reads what TERM and COLORTERM promise. An unknown terminal is given 16 colours, which every one in use understands.
func colorDepth(env func(string) string) depth {
	term := strings.ToLower(env("TERM"))
	switch {
	case term == "" || term == "dumb" || term == "unknown":
		return depthNone
	case env("COLORTERM") != "", containsAny(term, "256color", "direct", "truecolor"),
		containsAny(term, "kitty", "alacritty", "ghostty", "wezterm", "foot", "contour"):
		return depth256
	case strings.HasPrefix(term, "vt") || strings.HasSuffix(term, "-m") || strings.HasSuffix(term, "-mono"):
		return depthMono
	default:
		return depth16
	}
}

// lightBackground reads COLORFGBG ("foreground;background", set by rxvt, Konsole and others). Without it dark is assumed.
func lightBackground(env func(string) string) bool {
	v := env("COLORFGBG")
	bg, err := strconv.Atoi(v[strings.LastIndexByte(v, ';')+1:])
	return err == nil && (bg == 7 || bg >= 9 && bg <= 15)
}

// useUnicode follows the locale that is in force. Without any locale variable (containers, cron) nothing is known about the terminal, and
// terminals in use speak UTF-8.
func useUnicode(env func(string) string, want string) bool {
	switch want {
	case "unicode":
		return true
	case "ascii":
		return false
	}
	if colorDepth(env) <= depthMono {
		return false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := env(name); v != "" {
			return containsAny(strings.ToLower(v), "utf-8", "utf8")
		}
	}
	return true
}

func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}
