package theme

import (
	"strconv"

	"charm.land/lipgloss/v2"
)

// ink is the look of one role. Colours are indexes into the terminal's palette: 16 to 255 look the same everywhere, need no true colour
// (which is rarely announced over SSH) and are half as long on the wire.
type ink struct {
	fg        int // noColor is the terminal's own
	bold      bool
	faint     bool
	reverse   bool
	underline bool
}

const noColor = -1

func (i ink) style() lipgloss.Style {
	s := lipgloss.NewStyle()
	if i.fg != noColor {
		s = s.Foreground(lipgloss.Color(strconv.Itoa(i.fg)))
	}
	if i.bold {
		s = s.Bold(true)
	}
	if i.faint {
		s = s.Faint(true)
	}
	if i.reverse {
		s = s.Reverse(true)
	}
	if i.underline {
		s = s.Underline(true)
	}
	return s
}

// palette is the colours of a theme by role; attributes are the same in all coloured themes.
type palette [NumRoles]int

func (p palette) inks() [NumRoles]ink {
	var inks [NumRoles]ink
	for r := range NumRoles {
		inks[r] = ink{fg: p[r]}
	}
	inks[RoleTitle].bold = true
	inks[RoleFocus].bold = true
	inks[RoleAccent].bold = true
	inks[RoleWarn].bold = true
	inks[RoleBad].bold = true
	inks[RoleSelected].reverse = true
	return inks
}

// Dark returns the theme for dark backgrounds and 256 colours. Plain text has the terminal's own colour: it is right also where the background
// was guessed wrong, and takes a third of the bytes to switch to.
func Dark() *Theme {
	return newTheme("dark", palette{
		RoleText: noColor, RoleDim: 246, RoleTitle: 255, RoleBorder: 243, RoleFocus: 81, RoleAccent: 81,
		RoleGood: 114, RoleWarn: 221, RoleBad: 210, RoleKey: 81, RoleSelected: noColor, RoleAxis: 246,
		RoleDecode: 75, RolePrefill: 215, RoleContext: 79, RoleChunk: 222, RoleKV: 141,
		RoleGraphFull: 78, RoleGraphPiecewise: 75, RoleGraphNone: 209, RoleGraphUnknown: 246,
		RolePeriod: 117, RolePeriodTail: 211, RoleQueue: 180, RolePrefix: 115, RolePreempt: 203, RoleWindow: 177,
		RoleHeat1: 66, RoleHeat2: 73, RoleHeat3: 79, RoleHeat4: 115, RoleHeat5: 157,
		RoleAttention: 75, RoleRouter: 222, RoleExpert: 209, RoleDense: 79, RoleNorm: 180,
		RoleCollective: 177, RoleSampling: 211, RoleMemory: 109, RoleOther: 246,
	}.inks(), false)
}

// Light returns the theme for light backgrounds and 256 colours.
func Light() *Theme {
	return newTheme("light", palette{
		RoleText: noColor, RoleDim: 241, RoleTitle: 232, RoleBorder: 243, RoleFocus: 25, RoleAccent: 25,
		RoleGood: 22, RoleWarn: 94, RoleBad: 124, RoleKey: 25, RoleSelected: noColor, RoleAxis: 241,
		RoleDecode: 25, RolePrefill: 130, RoleContext: 23, RoleChunk: 94, RoleKV: 91,
		RoleGraphFull: 22, RoleGraphPiecewise: 25, RoleGraphNone: 124, RoleGraphUnknown: 241,
		RolePeriod: 24, RolePeriodTail: 125, RoleQueue: 95, RolePrefix: 60, RolePreempt: 160, RoleWindow: 90,
		RoleHeat1: 66, RoleHeat2: 30, RoleHeat3: 29, RoleHeat4: 23, RoleHeat5: 22,
		RoleAttention: 25, RoleRouter: 94, RoleExpert: 130, RoleDense: 23, RoleNorm: 95,
		RoleCollective: 90, RoleSampling: 125, RoleMemory: 60, RoleOther: 241,
	}.inks(), false)
}

// ANSI16Dark returns the theme for dark backgrounds and the 16 colours of the terminal's own palette.
func ANSI16Dark() *Theme {
	return newTheme("16-dark", palette{
		RoleText: noColor, RoleDim: 7, RoleTitle: 15, RoleBorder: 7, RoleFocus: 14, RoleAccent: 14,
		RoleGood: 10, RoleWarn: 11, RoleBad: 9, RoleKey: 14, RoleSelected: noColor, RoleAxis: 7,
		RoleDecode: 12, RolePrefill: 11, RoleContext: 14, RoleChunk: 3, RoleKV: 13,
		RoleGraphFull: 10, RoleGraphPiecewise: 12, RoleGraphNone: 9, RoleGraphUnknown: 7,
		RolePeriod: 14, RolePeriodTail: 13, RoleQueue: 3, RolePrefix: 6, RolePreempt: 9, RoleWindow: 13,
		RoleHeat1: 6, RoleHeat2: 6, RoleHeat3: 14, RoleHeat4: 10, RoleHeat5: 15,
		RoleAttention: 12, RoleRouter: 11, RoleExpert: 9, RoleDense: 14, RoleNorm: 3,
		RoleCollective: 13, RoleSampling: 10, RoleMemory: 6, RoleOther: 7,
	}.inks(), false)
}

// ANSI16Light returns the theme for light backgrounds and the 16 colours of the terminal's own palette.
func ANSI16Light() *Theme {
	return newTheme("16-light", palette{
		RoleText: noColor, RoleDim: 8, RoleTitle: 0, RoleBorder: 8, RoleFocus: 4, RoleAccent: 4,
		RoleGood: 2, RoleWarn: 5, RoleBad: 1, RoleKey: 4, RoleSelected: noColor, RoleAxis: 8,
		RoleDecode: 4, RolePrefill: 1, RoleContext: 6, RoleChunk: 5, RoleKV: 5,
		RoleGraphFull: 2, RoleGraphPiecewise: 4, RoleGraphNone: 1, RoleGraphUnknown: 8,
		RolePeriod: 4, RolePeriodTail: 5, RoleQueue: 1, RolePrefix: 6, RolePreempt: 1, RoleWindow: 5,
		RoleHeat1: 8, RoleHeat2: 6, RoleHeat3: 4, RoleHeat4: 5, RoleHeat5: 0,
		RoleAttention: 4, RoleRouter: 5, RoleExpert: 1, RoleDense: 6, RoleNorm: 2,
		RoleCollective: 5, RoleSampling: 2, RoleMemory: 6, RoleOther: 8,
	}.inks(), false)
}

// ColorBlindDark returns the dark theme in blue and orange: good and bad, and the graph modes, differ for every kind of colour vision.
func ColorBlindDark() *Theme {
	return newTheme("colorblind-dark", palette{
		RoleText: noColor, RoleDim: 246, RoleTitle: 255, RoleBorder: 243, RoleFocus: 117, RoleAccent: 117,
		RoleGood: 75, RoleWarn: 229, RoleBad: 208, RoleKey: 117, RoleSelected: noColor, RoleAxis: 246,
		RoleDecode: 75, RolePrefill: 214, RoleContext: 117, RoleChunk: 222, RoleKV: 147,
		RoleGraphFull: 75, RoleGraphPiecewise: 229, RoleGraphNone: 208, RoleGraphUnknown: 246,
		RolePeriod: 117, RolePeriodTail: 214, RoleQueue: 187, RolePrefix: 153, RolePreempt: 208, RoleWindow: 223,
		RoleHeat1: 67, RoleHeat2: 73, RoleHeat3: 110, RoleHeat4: 153, RoleHeat5: 189,
		RoleAttention: 75, RoleRouter: 229, RoleExpert: 208, RoleDense: 117, RoleNorm: 187,
		RoleCollective: 223, RoleSampling: 214, RoleMemory: 73, RoleOther: 246,
	}.inks(), false)
}

// ColorBlindLight returns the light theme in blue and orange.
func ColorBlindLight() *Theme {
	return newTheme("colorblind-light", palette{
		RoleText: noColor, RoleDim: 241, RoleTitle: 232, RoleBorder: 243, RoleFocus: 25, RoleAccent: 25,
		RoleGood: 25, RoleWarn: 52, RoleBad: 130, RoleKey: 25, RoleSelected: noColor, RoleAxis: 241,
		RoleDecode: 25, RolePrefill: 130, RoleContext: 24, RoleChunk: 94, RoleKV: 61,
		RoleGraphFull: 25, RoleGraphPiecewise: 235, RoleGraphNone: 130, RoleGraphUnknown: 241,
		RolePeriod: 24, RolePeriodTail: 130, RoleQueue: 94, RolePrefix: 60, RolePreempt: 130, RoleWindow: 58,
		RoleHeat1: 67, RoleHeat2: 25, RoleHeat3: 24, RoleHeat4: 18, RoleHeat5: 17,
		RoleAttention: 25, RoleRouter: 58, RoleExpert: 130, RoleDense: 24, RoleNorm: 94,
		RoleCollective: 61, RoleSampling: 52, RoleMemory: 60, RoleOther: 241,
	}.inks(), false)
}

// Mono returns the theme without colour: bold, faint, reverse and underline only.
func Mono() *Theme { return newTheme("mono", monoInks(), false) }

// Plain returns the theme without any sequence, for terminals that understand none.
func Plain() *Theme { return newTheme("plain", monoInks(), true) }

func monoInks() [NumRoles]ink {
	var inks [NumRoles]ink
	for r := range NumRoles {
		inks[r] = ink{fg: noColor}
	}
	for _, r := range []Role{RoleDim, RoleAxis, RoleBorder, RoleHeat1} {
		inks[r].faint = true
	}
	for _, r := range []Role{RoleTitle, RoleFocus, RoleAccent, RoleWarn, RoleKey, RolePeriodTail, RolePrefill, RoleHeat5} {
		inks[r].bold = true
	}
	inks[RoleBad].bold = true
	inks[RoleBad].underline = true
	inks[RoleSelected].reverse = true
	return inks
}
