package cmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"opprof/engine/unit"
)

const (
	barEvery   = 100 * time.Millisecond
	linesEvery = 10 * time.Second
	barColumns = 24
)

// progressLine tells how far a long job is: a bar that redraws itself on a terminal, a line every ten seconds elsewhere.
type progressLine struct {
	w        io.Writer
	terminal bool
	now      func() time.Time
	began    time.Time
	told     time.Time
	drawn    bool
}

// newProgress writes to standard error.
func (e *Env) newProgress() *progressLine {
	p := &progressLine{w: e.Stderr, now: e.Now}
	if plain, ok := e.Stderr.(plainWriter); ok && isTerminal(plain.Writer) && e.Getenv("TERM") != "dumb" {
		p.w, p.terminal = plain.Writer, true // what tell writes is printable but for the carriage return
	}
	return p
}

// begin starts the clock of a job.
func (p *progressLine) begin() {
	p.began = p.now()
	p.told = p.began
}

// tell says that done of total bytes are through. It writes as often as a reader can follow.
func (p *progressLine) tell(what string, done, total int64) {
	now, every := p.now(), linesEvery
	if p.terminal {
		every = barEvery
	}
	if now.Sub(p.told) < every || total <= 0 {
		return
	}
	p.told = now
	share := min(float64(done)/float64(total), 1)
	text := fmt.Sprintf("%s of %s, %s", unit.Bytes(done), unit.Bytes(total), unit.Bytes(int64(float64(done)/now.Sub(p.began).Seconds()))+"/s")
	if !p.terminal {
		_, _ = fmt.Fprintf(p.w, "%s: %.0f %%, %s\n", printable(what), 100*share, text)
		return
	}
	full := int(share * barColumns)
	name := []rune(printable(what))
	if len(name) > 24 {
		name = append(name[:21], []rune("...")...)
	}
	_, _ = fmt.Fprintf(p.w, "\r%s [%s%s] %3.0f %%  %s\x1b[K", string(name), strings.Repeat("#", full), strings.Repeat(".", barColumns-full), 100*share, text)
	p.drawn = true
}

// clear takes the bar off the terminal.
func (p *progressLine) clear() {
	if p.drawn {
		_, _ = io.WriteString(p.w, "\r\x1b[K")
		p.drawn = false
	}
}
