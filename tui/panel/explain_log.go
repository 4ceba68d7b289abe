package panel

import "opprof/tui/layout"

// Pages whose figures are explained as a whole.
const (
	PageLog    layout.ID = "server log"
	PageServer layout.ID = "server"
)

// LogDefinitions say what the log page shows.
func LogDefinitions() []Definition {
	return []Definition{
		{Panel: PageLog, Name: "time", Unit: "clock", Source: "server.log; the header of Layer 1", Text: "When the line was written, to the second. The log says neither year nor zone: it is laid beside the moment at which the recorder started, which vLLM logs too, or else beside the last step. A line without a time has that of the line before it, marked ~."},
		{Panel: PageLog, Name: "level", Unit: "D I W E C", Source: "server.log", Text: "Debug, info, warning, error, critical. Warnings have a triangle, errors a cross, lines that continue another a bar. A Python traceback that no level stands before is an error."},
		{Panel: PageLog, Name: "warnings, errors", Unit: "messages", Source: "all lines read so far", Text: "Messages, not lines: a traceback counts once, with the line that it belongs to."},
		{Panel: PageLog, Name: "filter", Unit: "lines", Source: "the whole file", Text: "Lines that hold a text, in any case of letters unless it has a capital one, or that match an expression between slashes. The text is looked for in the line as it stands in the file, process and place in the code included."},
		{Panel: PageLog, Name: "phases", Unit: "s", Source: "start-up lines of server.log", Text: "What the server did while it started, and how long each part took, to the second."},
		{Panel: PageLog, Name: "arguments", Unit: "", Source: "non-default args of the API server", Text: "The arguments whose value is not vLLM's default, as the server printed them."},
	}
}
