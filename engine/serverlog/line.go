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

// entry is a message that lines may continue. It never changes: marks share it.
type entry struct {
	process  string
	pid      int64
	head     int64      // number of its first line
	severity vllm.Level // of its first line
	begun    begun
	trace    trace
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
	open []*entry // the entry of each process, most recently begun last
	said Moment
}

// processesKept bounds the entries that may be continued.
const processesKept = 32

// place sets what a line is by the lines before it. Only LogLine and Number are read.
func (j *joiner) place(l *Line) {
	j.tell(l)
	l.Severity = l.Level
	next := entry{pid: l.PID, head: l.Number}
	if at := j.find(l); at >= 0 {
		e := j.open[at]
		trace, ok := e.takes(l)
		if ok {
			l.Head, l.Severity = e.head, max(e.severity, l.Level)
			if trace != e.trace {
				moved := *e
				moved.trace = trace
				j.open[at] = &moved
			}
			return
		}
		next.process = e.process
		j.open = append(j.open[:at], j.open[at+1:]...)
	} else {
		next.process = strings.Clone(l.Process) // a part of the whole line
	}
	if opensTrace(l.Message) {
		next.trace = inFrames
		if l.Level == vllm.LevelNone {
			l.Severity = vllm.LevelError
		}
	}
	next.severity, next.begun = l.Severity, begun{l.Level, l.Time, strings.Clone(l.Source)}
	if len(j.open) == processesKept {
		j.open = append(j.open[:0], j.open[1:]...)
	}
	j.open = append(j.open, &next)
}

// resume goes on behind the line of a mark.
func (j *joiner) resume(m *mark) {
	j.said = m.said
	j.open = append(j.open[:0], m.open...)
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
		if j.open[i].pid == l.PID && j.open[i].process == l.Process {
			return i
		}
	}
	return -1
}

// takes reports whether a line of the same process continues the entry, and where its traceback stands behind that line. vLLM writes the
// same head before every line of a message, while uvicorn and Python itself write none before a traceback.
func (e *entry) takes(l *Line) (trace, bool) {
	message := withoutRank(l.Message)
	indented := message == "" || message[0] == ' ' || message[0] == '\t'
	switch {
	case l.Level != vllm.LevelNone:
		sameHead := l.Source != "" && begun{l.Level, l.Time, l.Source} == e.begun
		if opensTrace(message) && sameHead {
			return inFrames, true
		}
		return e.trace, sameHead && (indented || e.trace != noTrace)
	case opensTrace(message):
		return inFrames, e.begun.level == vllm.LevelNone && e.trace != noTrace || e.severity >= vllm.LevelError
	case e.trace == inFrames:
		if !indented && !joinsTraces(message) {
			return afterException, true
		}
		return inFrames, true
	case e.trace == afterException:
		if joinsTraces(message) {
			return inFrames, true
		}
		return e.trace, indented
	}
	return e.trace, indented && e.begun.level >= vllm.LevelWarning
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
