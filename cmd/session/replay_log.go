package session

import (
	"os"
	"strings"
	"time"

	"opprof/engine/vllm"
)

// logReplay is a recorded server log beside a replay: the lines of the start, and those that go with the replay's steps.
type logReplay struct {
	start []logged // before the first step; dueNS counts from the recorder's start
	lines []logged // of one round; dueNS counts from its first submit
}

// logged is a line with its newline, and when it was written.
type logged struct {
	text  string
	stamp string // its time as it stands in the line; "" when it has none
	dueNS int64
}

const logStamp = "01-02 15:04:05"

// newLogReplay lays a log beside a replay.
func newLogReplay(text []byte, r *replay) *logReplay {
	startNS, _ := number(r.header, "start_wall_ns")
	l := &logReplay{}
	var fit *vllm.Calendar
	var all []logged
	said := int64(0)
	for line := range strings.Lines(string(text)) {
		parsed := vllm.ParseLogLine(line)
		at := logged{text: line}
		if parsed.Time.Known() {
			at.stamp = parsed.Time.At(2000).Format(logStamp)
			if fit == nil {
				// The recorder starts within minutes of the first line; zones lie on quarters of an hour.
				c := vllm.NewCalendar(parsed.Time, startNS)
				fit = &c
			}
			said = fit.WallNS(parsed.Time)
		}
		at.dueNS = said
		all = append(all, at)
	}
	for _, at := range all {
		switch due := at.dueNS - r.baseWallNS; {
		case due < 0:
			at.dueNS -= startNS
			l.start = append(l.start, at)
		case due < r.loopNS:
			at.dueNS = due
			l.lines = append(l.lines, at)
		}
	}
	return l
}

// at is the line as if it had been written at a wall time.
func (l *logged) at(wallNS int64, zone *time.Location) string {
	if l.stamp == "" {
		return l.text
	}
	return strings.Replace(l.text, l.stamp, time.Unix(0, wallNS).In(zone).Format(logStamp), 1)
}

// logPlayer writes a replayed log into a file as its lines fall due.
type logPlayer struct {
	*logReplay
	file  *os.File
	zone  *time.Location
	clock clock
	loop  int64
	round int64
	next  int
}

// begin writes the start, as if the recorder had started at a wall time, and goes to the first line at or behind a moment of the replay.
func (p *logPlayer) begin(startWallNS, fromNS int64) error {
	var out strings.Builder
	for i := range p.start {
		out.WriteString(p.start[i].at(startWallNS+p.start[i].dueNS, p.zone))
	}
	p.round = floorDiv(fromNS, p.loop)
	for p.next < len(p.lines) && p.lines[p.next].dueNS < fromNS-p.round*p.loop {
		p.next++
	}
	_, err := p.file.WriteString(out.String())
	return err
}

// writeDue writes every line due by a wall time.
func (p *logPlayer) writeDue(wallNS int64) error {
	var out strings.Builder
	for len(p.lines) > 0 {
		if p.next == len(p.lines) {
			p.next = 0
			p.round++
		}
		l := &p.lines[p.next]
		due := p.clock.zeroWallNS + scaleNS(p.round*p.loop+l.dueNS, p.clock.speed)
		if due > wallNS {
			break
		}
		out.WriteString(l.at(due, p.zone))
		p.next++
	}
	if out.Len() == 0 {
		return nil
	}
	_, err := p.file.WriteString(out.String())
	return err
}
