package theme_test

import (
	"image/color"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"charm.land/lipgloss/v2"

	"opprof/tui/theme"
)

func TestEveryThemeHasALookForEveryRole(t *testing.T) {
	for _, th := range theme.All() {
		for r := range theme.NumRoles {
			for a := range theme.Attr(4) {
				p := th.Pen(r, a)
				if (p.Open == "") != (p.Close == "") {
					t.Errorf("%s role %d attr %d: opens with %q and closes with %q", th.Name, r, a, p.Open, p.Close)
				}
				if got := ansi.Strip(p.Open + "x" + p.Close); got != "x" {
					t.Errorf("%s role %d attr %d: draws %q", th.Name, r, a, got)
				}
				if a&theme.Reverse != 0 && p.Blank && th.Name != "plain" && r != theme.RoleSelected {
					t.Errorf("%s role %d: a reversed space is said to be invisible", th.Name, r)
				}
			}
		}
		if th.Style(theme.NumRoles).Render("x") != th.Style(theme.RoleText).Render("x") {
			t.Errorf("%s: a role out of range does not look like text", th.Name)
		}
	}
}

func TestMonoHasNoColourAndPlainNothing(t *testing.T) {
	for r := range theme.NumRoles {
		open := theme.Mono().Pen(r, theme.Bold|theme.Reverse).Open
		for param := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(open, "\x1b["), "m"), ";") {
			if !strings.Contains(" 1 2 4 7 ", " "+param+" ") {
				t.Errorf("mono role %d has attribute %q in %q", r, param, open)
			}
		}
		if p := theme.Plain().Pen(r, theme.Bold|theme.Reverse); p.Open != "" || !p.Blank {
			t.Errorf("plain role %d writes %q", r, p.Open)
		}
	}
}

// The state roles must differ in a theme without colour too; panels add words.
func TestMonoTellsStatesApart(t *testing.T) {
	m := theme.Mono()
	looks := map[string]theme.Role{}
	for _, r := range []theme.Role{theme.RoleGood, theme.RoleWarn, theme.RoleBad, theme.RoleSelected, theme.RoleDim} {
		open := m.Pen(r, 0).Open
		if other, ok := looks[open]; ok {
			t.Errorf("roles %d and %d look the same", r, other)
		}
		looks[open] = r
	}
}

func runesOf(g theme.Glyphs) []rune {
	var out []rune
	v := reflect.ValueOf(g)
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Int32:
			out = append(out, rune(f.Int()))
		case reflect.Array:
			for j := range f.Len() {
				out = append(out, rune(f.Index(j).Int()))
			}
		}
	}
	return out
}

func TestGlyphsAreOneColumn(t *testing.T) {
	for _, r := range runesOf(theme.UnicodeGlyphs()) {
		if r == 0 || ansi.StringWidth(string(r)) != 1 {
			t.Errorf("unicode glyph %q (%U) is %d columns", r, r, ansi.StringWidth(string(r)))
		}
	}
	for _, r := range runesOf(theme.ASCIIGlyphs()) {
		if r < ' ' || r > '~' {
			t.Errorf("ASCII glyph %q (%U)", r, r)
		}
	}
}

func luminance(c color.Color) float64 {
	l := linear(c)
	return 0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2]
}

func linear(c color.Color) [3]float64 {
	r, g, b, _ := c.RGBA()
	var out [3]float64
	for i, v := range [...]uint32{r, g, b} {
		x := float64(v) / 0xffff
		if x <= 0.04045 {
			out[i] = x / 12.92
		} else {
			out[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return out
}

// contrast is the ratio of WCAG 2.
func contrast(a, b float64) float64 {
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}

// Text needs a contrast of 4.5 (WCAG AA), graphics and borders 3, against black as well as against the greys that terminals use.
func TestContrast(t *testing.T) {
	for _, c := range []struct {
		th         *theme.Theme
		background []color.Color
	}{
		{theme.Dark(), []color.Color{color.Black, color.RGBA{0x1e, 0x1e, 0x1e, 0xff}}},
		{theme.ColorBlindDark(), []color.Color{color.Black, color.RGBA{0x1e, 0x1e, 0x1e, 0xff}}},
		{theme.Light(), []color.Color{color.White, color.RGBA{0xfc, 0xfc, 0xfa, 0xff}}},
		{theme.ColorBlindLight(), []color.Color{color.White, color.RGBA{0xfc, 0xfc, 0xfa, 0xff}}},
	} {
		for r := range theme.NumRoles {
			if _, own := c.th.Style(r).GetForeground().(lipgloss.NoColor); own {
				continue // the terminal's own text colour is as readable as everything else there
			}
			want := 4.5
			if r == theme.RoleBorder || r >= theme.RoleHeat1 && r <= theme.RoleHeat5 {
				want = 3
			}
			for _, bg := range c.background {
				if got := contrast(luminance(c.th.Style(r).GetForeground()), luminance(bg)); got < want {
					t.Errorf("%s role %d: contrast %.2f, want %.1f", c.th.Name, r, got, want)
				}
			}
		}
	}
}

// Heat must grow away from the background, so that more looks like more.
func TestHeatGrowsAwayFromTheBackground(t *testing.T) {
	for th, sign := range map[*theme.Theme]float64{theme.Dark(): 1, theme.ColorBlindDark(): 1, theme.Light(): -1, theme.ColorBlindLight(): -1} {
		last := -1.0
		for r := theme.RoleHeat1; r <= theme.RoleHeat5; r++ {
			l := luminance(th.Style(r).GetForeground())
			if r > theme.RoleHeat1 && (l-last)*sign <= 0 {
				t.Errorf("%s: heat level %d is not stronger than the one before (%.3f, %.3f)", th.Name, r-theme.RoleHeat1+1, last, l)
			}
			last = l
		}
	}
}

// sight simulates dichromats on linear RGB: Machado, Oliveira, Fernandes 2009, severity 1.
var sight = map[string][3][3]float64{
	"normal": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protan": {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deutan": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritan": {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// oklab is Ottosson's perceptual space; a distance of 0.1 is plain to see side by side.
func oklab(c [3]float64) [3]float64 {
	l := math.Cbrt(0.4122214708*c[0] + 0.5363325363*c[1] + 0.0514459929*c[2])
	m := math.Cbrt(0.2119034982*c[0] + 0.6806995451*c[1] + 0.1073969566*c[2])
	s := math.Cbrt(0.0883024619*c[0] + 0.2817188376*c[1] + 0.6299787005*c[2])
	return [3]float64{
		0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
		1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
	}
}

func seen(c color.Color, by [3][3]float64) [3]float64 {
	in := linear(c)
	var out [3]float64
	for i := range out {
		for j := range in {
			out[i] += by[i][j] * in[j]
		}
		out[i] = max(0, min(1, out[i]))
	}
	return oklab(out)
}

func TestColorBlindThemesSeparateWhatMustDiffer(t *testing.T) {
	groups := [][]theme.Role{
		{theme.RoleGood, theme.RoleWarn, theme.RoleBad},
		{theme.RoleGraphFull, theme.RoleGraphPiecewise, theme.RoleGraphNone},
		{theme.RoleDecode, theme.RolePrefill},
		{theme.RolePeriod, theme.RolePeriodTail},
	}
	for _, th := range []*theme.Theme{theme.ColorBlindDark(), theme.ColorBlindLight()} {
		for name, by := range sight {
			for _, g := range groups {
				for i, a := range g {
					for _, b := range g[i+1:] {
						x, y := seen(th.Style(a).GetForeground(), by), seen(th.Style(b).GetForeground(), by)
						d := math.Sqrt(math.Pow(x[0]-y[0], 2) + math.Pow(x[1]-y[1], 2) + math.Pow(x[2]-y[2], 2))
						if d < 0.1 {
							t.Errorf("%s, %s: roles %d and %d are %.3f apart", th.Name, name, a, b, d)
						}
					}
				}
			}
		}
	}
}
