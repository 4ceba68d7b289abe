package keys

import "slices"

// Actions.
const (
	Quit      ID = "quit"
	ForceQuit ID = "force-quit"
	Suspend   ID = "suspend"
	Help      ID = "help"
	Back      ID = "back"
	Theme     ID = "theme"
	Density   ID = "density"
	Copy      ID = "copy"
	Explain   ID = "explain"
	Redraw    ID = "redraw"
	Warnings  ID = "warnings"
	Mouse     ID = "mouse"

	PageN ID = "page" // the digit of the key is the page's number

	FocusNext  ID = "focus-next"
	FocusPrev  ID = "focus-prev"
	FocusLeft  ID = "focus-left"
	FocusRight ID = "focus-right"
	FocusUp    ID = "focus-up"
	FocusDown  ID = "focus-down"
	Maximise   ID = "maximise"
	Detail     ID = "detail"
	Engine     ID = "engine"

	Freeze       ID = "freeze"
	ZoomIn       ID = "zoom-in"
	ZoomOut      ID = "zoom-out"
	Zoom         ID = "zoom-next"
	PanLeft      ID = "pan-left"
	PanRight     ID = "pan-right"
	PanPageLeft  ID = "pan-page-left"
	PanPageRight ID = "pan-page-right"
	StepPrev     ID = "step-prev"
	StepNext     ID = "step-next"
	Live         ID = "live"
	First        ID = "first"
	Find         ID = "find"

	NextPreemption ID = "next-preemption"
	PrevPreemption ID = "prev-preemption"
	NextMiss       ID = "next-miss"
	PrevMiss       ID = "prev-miss"
	NextStall      ID = "next-stall"
	PrevStall      ID = "prev-stall"
	NextWindow     ID = "next-window"
	PrevWindow     ID = "prev-window"
	NextGap        ID = "next-gap"
	PrevGap        ID = "prev-gap"

	Down     ID = "down"
	Up       ID = "up"
	PageDown ID = "page-down"
	PageUp   ID = "page-up"
	Top      ID = "top"
	Bottom   ID = "bottom"
	Accept   ID = "accept"
	Filter   ID = "filter"
	Next     ID = "next-match"
	Prev     ID = "prev-match"

	NextProblem ID = "next-problem"
	PrevProblem ID = "prev-problem"
	NextError   ID = "next-error"
	PrevError   ID = "prev-error"
	ToStep      ID = "to-step"
	Level       ID = "level"
	Around      ID = "around"
	Wrap        ID = "wrap"
	ScrollLeft  ID = "scroll-left"
	ScrollRight ID = "scroll-right"
	Facts       ID = "facts"
	LogHere     ID = "log-here"
)

// Default returns the keys of OpProf.
func Default() *Set {
	return NewSet(slices.Concat(program(), panels(), presets(), timeline(), jumps(), review(), lists(), serverLog(), windows(), learned(), orders(), campaign(), runs(), dialogs()))
}

func in(c ...Context) []Context { return c }

func program() []Binding {
	everywhere := in(ContextAny)
	return []Binding{
		{ID: Quit, Keys: []string{"q"}, Help: "quit", Long: "leave the program, or go back to the list that a run was opened from; a run that is only watched goes on", Group: GroupProgram, Contexts: everywhere, Footer: 99},
		{ID: ForceQuit, Keys: []string{"ctrl+c"}, Show: "^C", Help: "quit", Long: "leave the program from anywhere, dialogs included", Group: GroupProgram, Contexts: in(ContextAny, ContextDialog, ContextForm, ContextQuestion, ContextColumns, ContextSearch, ContextNotes)},
		{ID: Suspend, Keys: []string{"ctrl+z"}, Show: "^Z", Help: "suspend", Long: "go to the shell; `fg` comes back, the recording goes on", Group: GroupProgram, Contexts: in(ContextAny, ContextDialog, ContextForm, ContextQuestion, ContextColumns, ContextSearch, ContextNotes)},
		{ID: Help, Keys: []string{"?", "f1"}, Show: "?", Help: "all keys", Long: "show or hide all keys", Group: GroupProgram, Contexts: everywhere, Footer: 98},
		{ID: Back, Keys: []string{"esc"}, Help: "back", Long: "one level back: close an overlay, leave a maximised panel, clear a filter", Group: GroupProgram, Contexts: in(ContextAny, ContextDialog, ContextQuestion)},
		{ID: Explain, Keys: []string{"e"}, Help: "explain", Long: "say what the figures of the focused panel mean, their unit and source field", Group: GroupProgram, Contexts: everywhere, Footer: 30},
		{ID: Copy, Keys: []string{"y"}, Help: "copy", Long: "copy the figures of the focused panel to the clipboard (OSC 52)", Group: GroupProgram, Contexts: everywhere},
		{ID: Theme, Keys: []string{"t"}, Help: "theme", Long: "next theme: dark, light, 16 colours, colour-blind safe, mono", Group: GroupProgram, Contexts: everywhere},
		{ID: Density, Keys: []string{"d"}, Help: "density", Long: "compact, normal or full layout, or by the size of the terminal", Group: GroupProgram, Contexts: everywhere},
		{ID: Warnings, Keys: []string{"!"}, Help: "warnings", Long: "list what is or was wrong, with its first and last time", Group: GroupProgram, Contexts: everywhere, Needs: NeedWarnings, Footer: 35},
		{ID: Mouse, Keys: []string{"%"}, Help: "mouse", Long: "leave the mouse to the terminal, for selecting text, or take it again", Group: GroupProgram, Contexts: everywhere},
		{ID: Redraw, Keys: []string{"ctrl+l"}, Show: "^L", Help: "redraw", Long: "draw the whole screen again", Group: GroupProgram, Contexts: in(ContextAny, ContextDialog, ContextForm, ContextQuestion, ContextColumns, ContextSearch, ContextNotes)},
		{ID: PageN, Keys: []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, Show: "1..9", Help: "pages", Long: "go to the page with that number", Group: GroupPages, Contexts: everywhere},
	}
}

func panels() []Binding {
	charts := in(ContextCharts)
	return []Binding{
		{ID: FocusNext, Keys: []string{"tab"}, Help: "next panel", Long: "focus the next panel", Group: GroupPanels, Contexts: in(ContextAny), Footer: 65},
		{ID: FocusPrev, Keys: []string{"shift+tab"}, Help: "previous panel", Long: "focus the previous panel", Group: GroupPanels, Contexts: in(ContextAny)},
		{ID: FocusLeft, Keys: []string{"h"}, Help: "left", Long: "focus the panel to the left", Group: GroupPanels, Contexts: charts},
		{ID: FocusDown, Keys: []string{"j", "down"}, Show: "j ↓", Help: "down", Long: "focus the panel below", Group: GroupPanels, Contexts: charts},
		{ID: FocusUp, Keys: []string{"k", "up"}, Show: "k ↑", Help: "up", Long: "focus the panel above", Group: GroupPanels, Contexts: charts},
		{ID: FocusRight, Keys: []string{"l"}, Help: "right", Long: "focus the panel to the right", Group: GroupPanels, Contexts: charts},
		{ID: Maximise, Keys: []string{"enter"}, Help: "maximise", Long: "give the focused panel the whole page, and back", Group: GroupPanels, Contexts: charts, Footer: 40},
		{ID: Detail, Keys: []string{"o"}, Help: "step", Long: "every field of the step at the cursor on the whole page, and back", Group: GroupPanels, Contexts: charts, Needs: NeedSteps, Footer: 25},
		{ID: Engine, Keys: []string{"E"}, Help: "engine", Long: "all engines together, then each one alone", Group: GroupPanels, Contexts: charts, Needs: NeedEngines, Footer: 45},
	}
}

func timeline() []Binding {
	charts := in(ContextCharts)
	return []Binding{
		{ID: Freeze, Keys: []string{"space"}, Help: "freeze", Long: "stop the picture, not the recording; again to go on", Group: GroupTime, Contexts: charts, Needs: NeedLive, Footer: 10},
		{ID: ZoomIn, Keys: []string{"+", "="}, Show: "+", Help: "zoom in", Long: "show a shorter time", Group: GroupTime, Contexts: charts, Needs: NeedSteps},
		{ID: ZoomOut, Keys: []string{"-", "_"}, Show: "-", Help: "zoom out", Long: "show a longer time", Group: GroupTime, Contexts: charts, Needs: NeedSteps},
		{ID: Zoom, Keys: []string{"z"}, Help: "zoom", Long: "next span of time, up to the whole run", Group: GroupTime, Contexts: charts, Needs: NeedSteps, Footer: 50},
		{ID: PanLeft, Keys: []string{"left", "["}, Show: "←", Help: "earlier", Long: "move the cursor one column to earlier steps", Group: GroupTime, Contexts: charts, Needs: NeedSteps, Footer: 60},
		{ID: PanRight, Keys: []string{"right", "]"}, Show: "→", Help: "later", Long: "move the cursor one column to later steps", Group: GroupTime, Contexts: charts, Needs: NeedSteps, Footer: 61},
		{ID: PanPageLeft, Keys: []string{"shift+left", "pgup"}, Show: "S-← pgup", Help: "half back", Long: "move the picture to earlier steps by half its width", Group: GroupTime, Contexts: charts, Needs: NeedSteps},
		{ID: PanPageRight, Keys: []string{"shift+right", "pgdown"}, Show: "S-→ pgdn", Help: "half on", Long: "move the picture to later steps by half its width", Group: GroupTime, Contexts: charts, Needs: NeedSteps},
		{ID: StepPrev, Keys: []string{",", "<"}, Show: ",", Help: "step back", Long: "move the cursor to the step before", Group: GroupTime, Contexts: charts, Needs: NeedSteps},
		{ID: StepNext, Keys: []string{".", ">"}, Show: ".", Help: "step on", Long: "move the cursor to the next step", Group: GroupTime, Contexts: charts, Needs: NeedSteps},
		{ID: Live, Keys: []string{"end", "G"}, Help: "newest", Long: "back to the newest step; a live run is followed again", Group: GroupTime, Contexts: charts, Needs: NeedPast, Footer: 15},
		{ID: First, Keys: []string{"home", "g"}, Help: "first", Long: "to the first step of the run", Group: GroupTime, Contexts: charts, Needs: NeedSteps},
		{ID: Find, Keys: []string{"/"}, Help: "find", Long: "to a step index, a time of day or a distance from the cursor", Group: GroupTime, Contexts: charts, Needs: NeedSteps, Footer: 20},
	}
}

func jumps() []Binding {
	jump := func(next, prev ID, key, shifted, what string) []Binding {
		return []Binding{
			{ID: next, Keys: []string{key}, Help: "next " + what, Long: "to the next " + what, Group: GroupJumps, Contexts: in(ContextCharts), Needs: NeedSteps},
			{ID: prev, Keys: []string{shifted}, Help: "previous " + what, Long: "to the previous " + what, Group: GroupJumps, Contexts: in(ContextCharts), Needs: NeedSteps},
		}
	}
	return slices.Concat(
		jump(NextPreemption, PrevPreemption, "p", "P", "preemption"),
		jump(NextMiss, PrevMiss, "m", "M", "step without a CUDA graph"),
		jump(NextStall, PrevStall, "s", "S", "stall"),
		jump(NextWindow, PrevWindow, "n", "N", "profiler window"),
		jump(NextGap, PrevGap, "x", "X", "gap in the record"),
	)
}

func lists() []Binding {
	list := in(ContextList, ContextLog, ContextText, ContextWindows, ContextServer, ContextCampaign, ContextExperts, ContextCost, ContextRuns, ContextHelp)
	return []Binding{
		{ID: Down, Keys: []string{"j", "down"}, Show: "j ↓", Help: "down", Long: "one line down", Group: GroupLists, Contexts: list, Footer: 70},
		{ID: Up, Keys: []string{"k", "up"}, Show: "k ↑", Help: "up", Long: "one line up", Group: GroupLists, Contexts: list, Footer: 71},
		{ID: PageDown, Keys: []string{"pgdown", "ctrl+d"}, Show: "pgdn ^D", Help: "page down", Long: "a page down", Group: GroupLists, Contexts: list},
		{ID: PageUp, Keys: []string{"pgup", "ctrl+u"}, Show: "pgup ^U", Help: "page up", Long: "a page up", Group: GroupLists, Contexts: list},
		{ID: Top, Keys: []string{"home", "g"}, Help: "top", Long: "to the first line", Group: GroupLists, Contexts: list},
		{ID: Bottom, Keys: []string{"end", "G"}, Help: "bottom", Long: "to the last line", Group: GroupLists, Contexts: list},
		{ID: Filter, Keys: []string{"/"}, Help: "filter", Long: "show only lines with a text", Group: GroupLists, Contexts: in(ContextList, ContextLog, ContextHelp), Footer: 20},
		{ID: Next, Keys: []string{"n"}, Help: "next match", Long: "to the next line that matches", Group: GroupLists, Contexts: in(ContextList, ContextLog)},
		{ID: Prev, Keys: []string{"N"}, Help: "previous match", Long: "to the previous line that matches", Group: GroupLists, Contexts: in(ContextList, ContextLog)},
		{ID: Accept, Keys: []string{"enter"}, Help: "open", Long: "open the selected line; in a dialog, accept", Group: GroupLists, Contexts: in(ContextList, ContextWindows, ContextDialog), Footer: 40},
	}
}

func serverLog() []Binding {
	log := in(ContextLog)
	return []Binding{
		{ID: ToStep, Keys: []string{"enter"}, Help: "step", Long: "to the step that was completed when the line was written; L comes back", Group: GroupLog, Contexts: log, Footer: 40},
		{ID: NextProblem, Keys: []string{"p"}, Help: "next warning", Long: "to the next warning or error", Group: GroupLog, Contexts: log, Footer: 25},
		{ID: PrevProblem, Keys: []string{"P"}, Help: "previous warning", Long: "to the previous warning or error", Group: GroupLog, Contexts: log},
		{ID: NextError, Keys: []string{"x"}, Help: "next error", Long: "to the next error", Group: GroupLog, Contexts: log, Footer: 26},
		{ID: PrevError, Keys: []string{"X"}, Help: "previous error", Long: "to the previous error", Group: GroupLog, Contexts: log},
		{ID: Level, Keys: []string{"v"}, Help: "level", Long: "show all lines, then only info and worse, warnings and worse, errors", Group: GroupLog, Contexts: log, Footer: 27},
		{ID: Around, Keys: []string{"c"}, Help: "context", Long: "show matches among all other lines, or alone", Group: GroupLog, Contexts: log, Footer: 28},
		{ID: Wrap, Keys: []string{"r"}, Help: "wrap", Long: "wrap long lines, or cut them", Group: GroupLog, Contexts: log, Footer: 50},
		{ID: ScrollLeft, Keys: []string{"left", "h"}, Show: "← h", Help: "left", Long: "scroll long lines to their start", Group: GroupLog, Contexts: log},
		{ID: ScrollRight, Keys: []string{"right", "l"}, Show: "→ l", Help: "right", Long: "scroll long lines to their end", Group: GroupLog, Contexts: log},
		{ID: Facts, Keys: []string{"i"}, Help: "start-up", Long: "show or hide what the server said while it started", Group: GroupLog, Contexts: log, Footer: 55},
		{ID: LogHere, Keys: []string{"L"}, Help: "log", Long: "to the line of the server log that was said at the cursor", Group: GroupLog, Contexts: in(ContextCharts)},
	}
}
