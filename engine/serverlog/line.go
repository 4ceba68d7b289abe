package serverlog

import (
	"strings"

	"opprof/engine/vllm"
)

// Line is one line of the log with its place in it.
type Line struct {
	vllm.LogLine
	Number int64 // 1-based
	Offset int64 // of its first byte
	Bytes  int64 // without its newline
	Cut    bool  // the message is longer than what is kept of it

	// Head is the number of the line that this one continues: a traceback or a message of several lines belongs to the line that it
	// began with. 0 is a line of its own.
	Head int64
	// Severity is the level of the line, and for a line without one that of its head. A traceback that no level stands before is an error.
	Severity vllm.Level
	// Said is the time of the line, or that of the last line before it that had one.
	Said Moment
	// WallNS is Said in ns since 1970; 0 while the log is not laid beside known times.
	WallNS int64
	// Match says that the filter lets the line through. It differs from line to line only where all lines are shown.
	Match bool

	trace trace // where the traceback stands that the line is part of
	begun begun
}

// begun is how the first line of a message began.
type begun struct {
	level  vllm.Level
	time   vllm.LogTime
	source string
}

// Moment is a log time, and how many times the year had changed since the start of the log.
type Moment struct {
	vllm.LogTime
	Years int8
}

// entry is a line that others may continue.
type entry struct {
	line  Line
	trace trace
}

// trace says where the traceback of an entry stands.
type trace uint8

const (
	noTrace trace = iota
	inFrames
	afterException
)

// joiner finds out which lines belong together. Processes write into one file, so that lines of one message need not be neighbours: each
// process has an entry of its own.
type joiner struct {
	open []entry // the entry of each process, most recently used last
	said Moment
}

// processesKept bounds the entries that may be continued.
const processesKept = 32

// place sets what a line is by the lines before it. Only LogLine and Number are read.
func (j *joiner) place(l *Line) {
	j.tell(l)
	l.Severity = l.Level
	if at := j.find(l); at >= 0 {
		e := &j.open[at]
		if e.takes(l) {
			l.Head, l.Severity, l.trace, l.begun = e.line.Number, max(e.line.Severity, l.Level), e.trace, e.line.begun
			return
		}
		j.open = append(j.open[:at], j.open[at+1:]...)
	}
	if opensTrace(l.Message) {
		l.trace = inFrames
		if l.Level == vllm.LevelNone {
			l.Severity = vllm.LevelError
		}
	}
	l.begun = begun{l.Level, l.Time, l.Source}
	e := entry{line: *l, trace: l.trace}
	if len(j.open) == processesKept {
		j.open = append(j.open[:0], j.open[1:]...)
	}
	j.open = append(j.open, e)
}

// resume takes a line whose place is known, to go on from the middle of a log. Messages that other processes are in the middle of there are
// not known: their next lines stand for themselves.
func (j *joiner) resume(l Line) {
	e := entry{line: l, trace: l.trace}
	if l.Head != 0 {
		e.line.Number = l.Head
	}
	j.said = l.Said
	j.open = append(j.open[:0], e)
}

// tell sets the time of a line. Times have no year: December before January is a new one.
func (j *joiner) tell(l *Line) {
	if l.Time.Known() {
		switch {
		case j.said.Month == 12 && l.Time.Month == 1:
			j.said.Years++
		case j.said.Month == 1 && l.Time.Month == 12 && j.said.Years > 0:
			j.said.Years-- // a line that was written late
		}
		j.said.LogTime = l.Time
	}
	l.Said = j.said
}

func (j *joiner) find(l *Line) int {
	for i := len(j.open) - 1; i >= 0; i-- {
		if j.open[i].line.PID == l.PID && j.open[i].line.Process == l.Process {
			return i
		}
	}
	return -1
}

// takes reports whether a line of the same process continues the entry. vLLM writes the same head before every line of a message, while
// uvicorn and Python itself write none before a traceback.
func (e *entry) takes(l *Line) bool {
	message := withoutRank(l.Message)
	indented := message == "" || message[0] == ' ' || message[0] == '\t'
	switch {
	case l.Level != vllm.LevelNone:
		sameHead := l.Source != "" && begun{l.Level, l.Time, l.Source} == e.line.begun
		if opensTrace(message) && sameHead {
			e.trace = inFrames
		}
		return sameHead && (indented || e.trace != noTrace)
	case opensTrace(message):
		opens := e.line.begun.level == vllm.LevelNone && e.trace != noTrace || e.line.Severity >= vllm.LevelError
		e.trace = inFrames
		return opens
	case e.trace == inFrames:
		if !indented && !joinsTraces(message) {
			e.trace = afterException
		}
		return true
	case e.trace == afterException:
		if joinsTraces(message) {
			e.trace = inFrames
			return true
		}
		return indented
	}
	return indented && e.line.begun.level >= vllm.LevelWarning
}

func opensTrace(message string) bool {
	return strings.Contains(message, "Traceback (most recent call last)")
}

// joinsTraces reports whether Python says that another traceback follows.
func joinsTraces(message string) bool {
	return strings.HasPrefix(message, "During handling of the above exception") || strings.HasPrefix(message, "The above exception was the direct cause")
}

// withoutRank takes off the "[rank0]: " that torch puts before the lines of a traceback.
func withoutRank(message string) string {
	if strings.HasPrefix(message, "[rank") {
		if _, rest, ok := strings.Cut(message, "]:"); ok {
			return strings.TrimPrefix(rest, " ")
		}
	}
	return message
}
