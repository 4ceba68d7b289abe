package panel

import (
	"time"
	"unicode/utf8"

	"opprof/engine/serverlog"
	"opprof/engine/unit"
	"opprof/engine/vllm"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// Row is one line of a text panel: a heading, a name with its value, a remark alone, or nothing.
type Row struct {
	Heading string
	Name    string
	Value   string
	Remark  string // behind the value, dim
	Role    theme.Role
}

// StartupRows say how a server started: where its start stands and how long each phase took, what it said about itself, and which of
// its arguments differ from vLLM's defaults.
func StartupRows(v *serverlog.View, zone *time.Location) []Row {
	if v == nil {
		return nil
	}
	s := v.State
	rows := []Row{{Heading: "start"}, {Name: "phase", Value: phaseText(s.Phase), Role: phaseRole(s.Phase)}}
	for _, p := range v.Phases {
		took := unit.Unknown
		switch {
		case p.TookNS == 0:
			took = "< 1 s" // the log tells whole seconds
		case p.TookNS > 0:
			took = unit.Duration(p.TookNS)
		}
		rows = append(rows, Row{Name: "  " + p.Name, Value: took, Remark: begun(p, zone)})
	}
	rows = append(rows, Row{}, Row{Heading: "what the server said"})
	if len(s.Facts) == 0 {
		rows = append(rows, Row{Name: "nothing yet"})
	}
	for _, f := range s.Facts {
		rows = append(rows, Row{Name: f.Name, Value: f.Value})
	}
	return append(rows, argumentRows(s)...)
}

// begun is when a phase began; as the server wrote it where no other file tells its zone, "" where that is not known either.
func begun(p serverlog.PhaseNS, zone *time.Location) string {
	switch {
	case p.AtNS != 0:
		return "from " + unit.ClockSeconds(p.AtNS, zone)
	case p.Said.Known():
		return "from " + p.Said.At(2000).Format(time.TimeOnly)
	}
	return ""
}

func argumentRows(s *serverlog.State) []Row {
	rows := []Row{{}, {Heading: "arguments that are not the default"}}
	for _, a := range s.Args {
		rows = append(rows, Row{Name: a.Name, Value: a.Value})
	}
	if len(s.Args) == 0 {
		rows = append(rows, Row{Name: "none told"})
	}
	return rows
}

func phaseText(p vllm.Phase) string {
	if p.Total > 0 {
		return p.Name + "  " + unit.Count(p.Done) + " of " + unit.Count(p.Total)
	}
	return p.Name
}

func phaseRole(p vllm.Phase) theme.Role {
	switch p.Name {
	case vllm.PhaseReady:
		return theme.RoleGood
	case vllm.PhaseStopping:
		return theme.RoleDim
	}
	return theme.RoleAccent
}

// RowsHeight is the number of lines that rows take at width w: long values go on below.
func RowsHeight(rows []Row, w int) int {
	n := 0
	for i := range rows {
		n += len(rowLines(&rows[i], nameWidth(rows, w), w))
	}
	return n
}

// DrawRows draws rows from line top on.
func DrawRows(g *chart.Grid, rows []Row, top int) {
	nameW := nameWidth(rows, g.W())
	y := -top
	for i := range rows {
		r := &rows[i]
		lines := rowLines(r, nameW, g.W())
		if r.Heading != "" {
			g.TextAttr(0, y, g.W(), r.Heading, theme.RoleTitle, theme.Bold)
		} else {
			drawRow(g, r, y, nameW, lines)
		}
		if y += len(lines); y >= g.H() {
			return
		}
	}
}

func drawRow(g *chart.Grid, r *Row, y, nameW int, lines []string) {
	if r.Value == "" {
		g.Text(0, y, g.W(), r.Name, theme.RoleDim)
		return
	}
	g.Text(0, y, nameW, r.Name, theme.RoleDim)
	for k, l := range lines {
		n := g.Text(nameW+1, y+k, g.W()-nameW-1, l, r.Role)
		if k == len(lines)-1 && r.Remark != "" {
			x := nameW + 1 + n + 2
			if x+utf8.RuneCountInString(r.Remark) <= g.W() {
				g.Text(x, y+k, g.W()-x, r.Remark, theme.RoleDim)
			}
		}
	}
}

// nameWidth is the width of the names: that of the longest, at most half.
func nameWidth(rows []Row, w int) int {
	n := 0
	for _, r := range rows {
		if r.Value != "" {
			n = max(n, utf8.RuneCountInString(r.Name))
		}
	}
	return min(n, w/2)
}

// rowLinesMax bounds the lines of one value.
const rowLinesMax = 6

// rowLines are the lines of a row's value.
func rowLines(r *Row, nameW, w int) []string {
	if r.Heading != "" {
		return []string{r.Heading}
	}
	room := max(1, w-nameW-1)
	runes := []rune(chart.Sanitize(r.Value))
	var lines []string
	for len(runes) > room && len(lines) < rowLinesMax-1 {
		n := room
		for k := room; k > room/2; k-- { // behind a blank or a comma, if there is one not far from the end
			if c := runes[k-1]; c == ' ' || c == ',' {
				n = k
				break
			}
		}
		lines = append(lines, string(runes[:n]))
		runes = runes[n:]
	}
	return append(lines, string(runes))
}

// Below says in a border how many lines follow.
func Below(n int) string {
	if n <= 0 {
		return "end"
	}
	return unit.Count(int64(n)) + " more below"
}
