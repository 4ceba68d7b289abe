package theme

// Glyphs are the runes that charts and borders are drawn with. Each is one column wide, is no emoji, and the ASCII set holds nothing but
// printable ASCII.
type Glyphs struct {
	ASCII   bool // nothing outside ASCII may reach the terminal
	Braille bool // the terminal's font can be expected to have braille patterns

	// Borders.
	TopLeft, TopRight, BottomLeft, BottomRight, Horizontal, Vertical rune
	TeeLeft, TeeRight                                                rune // where a line inside a box meets its left and right border
	TickLeft, TickDown                                               rune // a label's mark on a vertical and on a horizontal axis

	// Bars. Index n is n eighths of a cell; sets with fewer steps repeat runes.
	Across [9]rune // growing to the right
	Up     [9]rune // growing upwards
	Track  rune    // the empty part of a meter

	// Heat. Index 0 is a known zero, 1 to 5 are levels.
	Heat [6]rune

	// Marks of lines in a chart that cannot draw braille, by line.
	Lines [4]rune

	// Marks in text.
	Dot, Ring, Triangle, Cross, Check, Pause, Play rune

	// Ends of text, cursors and the shown part of a run.
	Ellipsis, Cursor, ExtentLeft, ExtentRight, Extent rune
}

// UnicodeGlyphs returns the set for UTF-8 terminals. Triangles are the ones without an emoji form.
func UnicodeGlyphs() Glyphs {
	return Glyphs{
		Braille: true,
		TopLeft: '╭', TopRight: '╮', BottomLeft: '╰', BottomRight: '╯', Horizontal: '─', Vertical: '│',
		TeeLeft: '├', TeeRight: '┤', TickLeft: '┤', TickDown: '┴',
		Across: [9]rune{' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'},
		Up:     [9]rune{' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'},
		Track:  '░',
		Heat:   [6]rune{'·', '░', '▒', '▓', '█', '█'},
		Lines:  [4]rune{'•', '×', '+', '◦'},
		Dot:    '●', Ring: '○', Triangle: '▲', Cross: '×', Check: '✓', Pause: '▮', Play: '►',
		Ellipsis: '…', Cursor: '│', ExtentLeft: '├', ExtentRight: '┤', Extent: '━',
	}
}

// ASCIIGlyphs returns the set for terminals or fonts without UTF-8.
func ASCIIGlyphs() Glyphs {
	return Glyphs{
		ASCII:   true,
		TopLeft: '+', TopRight: '+', BottomLeft: '+', BottomRight: '+', Horizontal: '-', Vertical: '|',
		TeeLeft: '+', TeeRight: '+', TickLeft: '|', TickDown: '+',
		Across: [9]rune{' ', '-', '-', '-', '=', '=', '=', '#', '#'},
		Up:     [9]rune{' ', '_', '_', '.', '.', ':', ':', '|', '#'},
		Track:  '.',
		Heat:   [6]rune{'.', ':', '+', '*', '#', '@'},
		Lines:  [4]rune{'o', 'x', '+', '~'},
		Dot:    '*', Ring: 'o', Triangle: '^', Cross: 'x', Check: '#', Pause: '|', Play: '>',
		Ellipsis: '~', Cursor: '|', ExtentLeft: '[', ExtentRight: ']', Extent: '=',
	}
}
