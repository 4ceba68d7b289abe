package supervisor

import (
	"regexp"
	"strings"

	"opprof/engine/vllm"
)

// causes picks the lines of a server's log that say why it ended. They stand in the middle: behind them the other processes report, each
// with a traceback of its own, that the first one has gone.
type causes struct {
	kept []cause
	line int64
	from int64 // candidates before this line were overcome
}

type cause struct {
	line    int64
	text    string
	process string
	echo    bool // a process that only reports that another one failed
}

var (
	// exceptionLine is the last line of a Python traceback, or an argument parser's complaint.
	exceptionLine = regexp.MustCompile(`^(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure)\b(?::|$)|^\S+: error: |^Fatal Python error`)
	echoLine      = regexp.MustCompile(`root cause|EngineDeadError|Engine core (?:proc )?.*(?:initialization failed|died)|WorkerProc initialization failed|Failed core proc|cancelled|died unexpectedly`)
	// plainCause is said without an exception: by the system, the driver, or vLLM's own last words.
	plainCause = regexp.MustCompile(`(?i)out of memory|no space left on device|address already in use|segmentation fault|core dumped|killed`)
)

const (
	maxCauses     = 64
	maxCauseBytes = 400
	// causeReach is how far before the end of the log a cause may lie.
	causeReach = 2000
)

// add takes the next line of the log.
func (c *causes) add(l vllm.LogLine) {
	c.line++
	text := strings.TrimSpace(l.Message)
	exception := exceptionLine.MatchString(text)
	if !exception && !(plainCause.MatchString(text) && (l.Level == vllm.LevelNone || l.Level >= vllm.LevelError)) {
		return
	}
	if l.Level == vllm.LevelDebug || l.Level == vllm.LevelInfo || l.Level == vllm.LevelWarning {
		return
	}
	if len(text) > maxCauseBytes {
		text = text[:maxCauseBytes] + "…"
	}
	if len(c.kept) == maxCauses {
		c.kept = append(c.kept[:maxCauses/2], c.kept[maxCauses/2+1:]...)
	}
	c.kept = append(c.kept, cause{line: c.line, text: text, process: l.Process, echo: echoLine.MatchString(text)})
}

// passed says that the server got further: what was complained about before did not end it.
func (c *causes) passed() { c.from = c.line }

// say names the cause: the first complaint that is not about another process, with the one behind it if that says more. "" is none.
func (c *causes) say() string {
	from := max(c.from, c.line-causeReach)
	var first, echo string
	for _, k := range c.kept {
		text := k.text
		if k.process != "" {
			text = k.process + ": " + text
		}
		switch {
		case k.line < from:
		case k.echo && echo == "":
			echo = text
		case !k.echo && first == "":
			first = text
		}
	}
	if first == "" {
		return echo
	}
	return first
}
