package panel

import (
	"strings"
	"unicode/utf8"

	"opprof/engine/serverlog"
	"opprof/engine/unit"
	"opprof/engine/vllm"
	"opprof/tui/chart"
	"opprof/tui/theme"
	"time"
)

// LogLines draws lines of the server's log, oldest first.
type LogLines struct {
	Lines  []serverlog.Line
	Cursor int // index of the line under the cursor; -1 is none
	Filter serverlog.Filter
	Around bool // lines that do not pass the filter are shown too
	Wrap   bool
	Shift  int // columns by which messages are scrolled to the left
	Zone   *time.Location
}

const (
	timeColumns    = 9  // a clock and the mark of a time that is not the line's own
	levelColumns   = 4  // mark, letter and blanks
	processColumns = 11 // EngineCore and a blank
	sourceColumns  = 26
)

// narrow is the width below which processes have short names.
const narrow = 100

// head is the width of what stands before the message.
func (p LogLines) head(w int) int {
	if w < narrow {
		return timeColumns + levelColumns + processColumns - 4
	}
	return timeColumns + levelColumns + processColumns
}

// Height is the number of rows that a line takes at width w.
func (p LogLines) Height(l *serverlog.Line, w int) int {
	room := w - p.head(w)
	if !p.Wrap || room < 1 {
		return 1
	}
	return max(1, (utf8.RuneCountInString(chart.Sanitize(l.Message))+room-1)/room)
}

// Draw fills g from the top. Lines that do not fit are left out.
func (p LogLines) Draw(g *chart.Grid) {
	y := 0
	for i := range p.Lines {
		if y >= g.H() {
			return
		}
		h := p.Height(&p.Lines[i], g.W())
		p.line(g.Sub(chart.Rect{Y: y, W: g.W(), H: h}), &p.Lines[i])
		if i == p.Cursor {
			g.Restyle(chart.Rect{Y: y, W: g.W(), H: min(h, g.H()-y)}, theme.RoleSelected, 0)
		}
		y += h
	}
}

func (p LogLines) line(g *chart.Grid, l *serverlog.Line) {
	role := levelRole(l.Severity)
	text := role
	if l.Severity < vllm.LevelWarning {
		text = theme.RoleText
	}
	if p.Around && !l.Match && !p.Filter.All() {
		role, text = theme.RoleDim, theme.RoleDim
	}
	p.clock(g, l)
	mark, letter := LevelMark(&g.Glyphs, l.Severity)
	if l.Head != 0 {
		mark, letter = g.Glyphs.Vertical, ' '
	}
	g.SetAttr(timeColumns, 0, mark, role, theme.Bold)
	g.SetAttr(timeColumns+2, 0, letter, role, theme.Bold)
	x := timeColumns + levelColumns
	head := p.head(g.W())
	g.Text(x, 0, head-x-1, processName(l.Process, g.W()), theme.RoleDim)
	p.message(g.Sub(chart.Rect{X: head, W: g.W() - head, H: g.H()}), l, text)
}

// clock writes the line's time. One that is taken from a line before it has a mark.
func (p LogLines) clock(g *chart.Grid, l *serverlog.Line) {
	if l.Head != 0 || !l.Said.Known() {
		return
	}
	at := unit.ClockSeconds(l.WallNS, p.Zone)
	if l.WallNS == 0 {
		at = l.Said.At(2000).Format(time.TimeOnly) // as the server wrote it
	}
	role := theme.RoleDim
	if !l.Time.Known() {
		g.Set(8, 0, '~', role)
	}
	g.Text(0, 0, 8, at, role)
}

// message writes the text, with what the filter matches marked, and the place in vLLM's code where there is room for both.
func (p LogLines) message(g *chart.Grid, l *serverlog.Line, role theme.Role) {
	clean := chart.Sanitize(l.Message)
	runes := []rune(clean)
	marks := make([]bool, len(runes))
	if l.Match {
		for _, s := range p.Filter.Spans(clean, 64) {
			from := utf8.RuneCountInString(clean[:s[0]])
			for i := from; i < from+utf8.RuneCountInString(clean[s[0]:s[1]]); i++ {
				marks[i] = true
			}
		}
	}
	from, w := 0, g.W()
	if !p.Wrap {
		from = min(max(0, p.Shift), len(runes))
	}
	for i := from; i < len(runes); i++ {
		x, y := i-from, 0
		if p.Wrap && w > 0 {
			x, y = x%w, x/w
		}
		if !p.Wrap && x == w-1 && (i+1 < len(runes) || l.Cut) {
			g.Set(x, y, g.Glyphs.Ellipsis, theme.RoleDim)
			return
		}
		if x >= w {
			return
		}
		if marks[i] {
			g.SetAttr(x, y, runes[i], theme.RoleAccent, theme.Bold|theme.Reverse)
		} else {
			g.Set(x, y, runes[i], role)
		}
	}
	if used := len(runes) - from; g.H() == 1 && l.Source != "" && l.Head == 0 && used+2+sourceColumns <= w {
		g.TextRight(w-sourceColumns, 0, sourceColumns, l.Source, theme.RoleDim)
	}
}

// processName is what tells a process from the others, in as much room as there is: EngineCore_DP1 is Engine_DP1, or Core_DP1.
func processName(name string, w int) string {
	short := [][2]string{{"EngineCore_", "Engine_"}, {"ApiServer", "API"}}
	if w < narrow {
		short = [][2]string{{"EngineCore", "Core"}, {"APIServer", "API"}, {"ApiServer", "API"}, {"Worker_", ""}}
	}
	for _, s := range short {
		if rest, ok := strings.CutPrefix(name, s[0]); ok {
			return s[1] + rest
		}
	}
	return name
}

// LevelMark is the mark and the letter of a level.
func LevelMark(gl *theme.Glyphs, level vllm.Level) (mark, letter rune) {
	switch level {
	case vllm.LevelDebug:
		return ' ', 'D'
	case vllm.LevelInfo:
		return ' ', 'I'
	case vllm.LevelWarning:
		return gl.Triangle, 'W'
	case vllm.LevelError:
		return gl.Cross, 'E'
	case vllm.LevelCritical:
		return gl.Cross, 'C'
	}
	return ' ', ' '
}

func levelRole(level vllm.Level) theme.Role {
	switch {
	case level >= vllm.LevelError:
		return theme.RoleBad
	case level == vllm.LevelWarning:
		return theme.RoleWarn
	}
	return theme.RoleDim
}

// LogLine writes one line in short: level, process and message, as far as there is room.
func LogLine(g *chart.Grid, l *serverlog.Line) {
	mark, letter := LevelMark(&g.Glyphs, l.Severity)
	role := levelRole(l.Severity)
	g.Spans(0, 0, g.W(), chart.Span{S: "L", Role: theme.RoleKey}, chart.Span{S: " log  ", Role: theme.RoleDim},
		chart.Span{S: strings.TrimSpace(string(mark)+" "+string(letter)) + " ", Role: role, Attr: theme.Bold},
		chart.Span{S: processName(l.Process, 0) + "  ", Role: theme.RoleDim}, chart.Span{S: l.Message, Role: theme.RoleText})
}
