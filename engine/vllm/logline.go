package vllm

import (
	"regexp"
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
	for i, n := range levelNames {
		if n == s {
			return Level(i)
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

var (
	signature = regexp.MustCompile(`^\(([A-Za-z_0-9]+) pid=(\d+)\) ?`)
	logHead   = regexp.MustCompile(`^(DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d)-(\d\d) (\d\d):(\d\d):(\d\d) \[([^\]]*)\] ?`)
	webHead   = regexp.MustCompile(`^(DEBUG|INFO|WARNING|ERROR|CRITICAL): +`)
)

// ParseLogLine reads one line without its newline. Of a progress bar that redrew itself, the last drawing counts.
func ParseLogLine(s string) LogLine {
	var l LogLine
	s = strings.TrimRight(s, "\r\n")
	if m := signature.FindStringSubmatch(s); m != nil {
		l.Process = m[1]
		l.PID, _ = strconv.ParseInt(m[2], 10, 64)
		s = s[len(m[0]):]
	}
	if i := strings.LastIndexByte(s, '\r'); i >= 0 {
		s = s[i+1:]
	}
	switch m := logHead.FindStringSubmatch(s); {
	case m != nil:
		l.Level = parseLevel(m[1])
		l.Time = LogTime{small(m[2]), small(m[3]), small(m[4]), small(m[5]), small(m[6])}
		l.Source = m[7]
		s = s[len(m[0]):]
	default:
		if w := webHead.FindStringSubmatch(s); w != nil {
			l.Level = parseLevel(w[1])
			s = s[len(w[0]):]
		}
	}
	l.Message = s
	return l
}

func small(s string) int8 {
	v, _ := strconv.ParseInt(s, 10, 8)
	return int8(v)
}

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
