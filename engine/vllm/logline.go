package vllm

import (
	"strconv"
	"strings"
	"time"
)

// Level is a log line's severity. LevelNone is a line without one: a continuation, a progress bar, a print of a library.
type Level uint8

const (
	LevelNone Level = iota
	LevelDebug
	LevelInfo
	LevelWarning
	LevelError
	LevelCritical
)

var levelNames = [...]string{"", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}

// String is the level as vLLM writes it.
func (l Level) String() string { return levelNames[min(l, LevelCritical)] }

func parseLevel(s string) Level {
	for i, n := range levelNames[1:] {
		if n == s {
			return Level(i + 1)
		}
	}
	return LevelNone
}

// LogLine is one line of server.log (vllm/logger.py and uvicorn's format). Process is APIServer, EngineCore, EngineCore_DP1, Worker_TP0
// and so on; "" for lines that no process signed. A line's time has no year and no zone: see Calendar.
type LogLine struct {
	Process string
	PID     int64 // 0 when not signed
	Level   Level
	Time    LogTime
	Source  string // file:line in vLLM, "" if not said
	Message string
}

// LogTime is a log line's date and time without year or zone, to the second. The zero value is unknown.
type LogTime struct {
	Month, Day, Hour, Minute, Second int8
}

// Known reports whether the line had a time.
func (t LogTime) Known() bool { return t.Month > 0 }

// At is the time in a year, as if the log were written in UTC.
func (t LogTime) At(year int) time.Time {
	return time.Date(year, time.Month(t.Month), int(t.Day), int(t.Hour), int(t.Minute), int(t.Second), 0, time.UTC)
}

// ParseLogLine reads one line without its newline. Of a progress bar that redrew itself, the last drawing counts.
func ParseLogLine(s string) LogLine {
	var l LogLine
	s = strings.TrimRight(s, "\r\n")
	s = l.signature(s)
	if i := strings.LastIndexByte(s, '\r'); i >= 0 {
		s = s[i+1:]
	}
	l.Message = l.head(s)
	return l
}

// signature takes "(Worker_TP0 pid=7) " off the start of a line.
func (l *LogLine) signature(s string) string {
	if len(s) == 0 || s[0] != '(' {
		return s
	}
	name, rest, ok := strings.Cut(s[1:], " pid=")
	if !ok || name == "" || strings.IndexFunc(name, notInName) >= 0 {
		return s
	}
	n := digits(rest)
	if n == 0 || n == len(rest) || rest[n] != ')' {
		return s
	}
	l.Process = name
	l.PID, _ = strconv.ParseInt(rest[:n], 10, 64)
	return strings.TrimPrefix(rest[n+1:], " ")
}

func notInName(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// digits is the number of digits that s starts with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// head takes the level off the start of a line, with the time and place that vLLM writes behind it or the colon of uvicorn.
func (l *LogLine) head(s string) string {
	word := strings.IndexAny(s[:min(len(s), len("CRITICAL")+1)], " :")
	if word < 0 {
		return s
	}
	level := parseLevel(s[:word])
	if level == LevelNone {
		return s
	}
	rest := s[word+1:]
	if s[word] == ':' {
		message := strings.TrimLeft(rest, " ")
		if message == rest {
			return s
		}
		l.Level = level
		return message
	}
	const stamp = "01-02 15:04:05 ["
	if len(rest) < len(stamp) || !stamped(rest[:len(stamp)]) {
		return s
	}
	source, message, ok := strings.Cut(rest[len(stamp):], "]")
	if !ok {
		return s
	}
	l.Level, l.Source = level, source
	l.Time = LogTime{small(rest[0:]), small(rest[3:]), small(rest[6:]), small(rest[9:]), small(rest[12:])}
	return strings.TrimPrefix(message, " ")
}

// stamped reports whether s is laid out as "01-02 15:04:05 [".
func stamped(s string) bool {
	for i, c := range []byte("dd-dd dd:dd:dd [") {
		if c == 'd' && (s[i] < '0' || s[i] > '9') || c != 'd' && s[i] != c {
			return false
		}
	}
	return true
}

// small reads two digits.
func small(s string) int8 { return int8(10*(s[0]-'0') + s[1] - '0') }

// Calendar gives log times their year and zone, found by laying the log beside times that are known.
type Calendar struct {
	year   int
	offset time.Duration // what to add to a time read as UTC
}

// zoneStep is the grid of the world's time zones.
const zoneStep = 15 * time.Minute

// NewCalendar fits the calendar so that a log line's time comes closest to the wall time at which it was written, in ns since 1970. Zones
// lie on a grid of a quarter of an hour, so the two may be some minutes apart.
func NewCalendar(line LogTime, wallNS int64) Calendar {
	wall := time.Unix(0, wallNS).UTC()
	best := Calendar{year: wall.Year()}
	bestGap := time.Duration(1<<63 - 1)
	for _, year := range []int{wall.Year() - 1, wall.Year(), wall.Year() + 1} {
		gap := wall.Sub(line.At(year))
		offset := gap.Round(zoneStep)
		if offset.Abs() <= 14*time.Hour && gap.Abs() < bestGap {
			best, bestGap = Calendar{year: year, offset: offset}, gap.Abs()
		}
	}
	return best
}

// WallNS is a log time in ns since 1970; 0 for a line without one.
func (c Calendar) WallNS(t LogTime) int64 {
	if !t.Known() || c.year == 0 {
		return 0
	}
	return t.At(c.year).Add(c.offset).UnixNano()
}
