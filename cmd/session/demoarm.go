package session

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// leadNS is how long before its window an armed demo goes on, in replayed time: long enough to see that it is armed.
const leadNS = 2_500_000_000

var (
	errArmed     = errors.New("one is armed already")
	errRecording = errors.New("the profiler is recording")
	errNoWindow  = errors.New("this recording holds no profiler window")
	errEnded     = errors.New("the demo has ended")
)

// order asks the playing goroutine to arm a window.
type order struct{ answer chan error }

// arm jumps to the next recorded window. It belongs to the playing goroutine.
func (d *demo) arm(now time.Time) error {
	switch {
	case d.armed.Load() != nil:
		return errArmed
	case d.recording:
		return errRecording
	}
	marker, ok := d.player.nextStart()
	if !ok {
		return errNoWindow
	}
	at := time.Unix(0, d.player.jump(marker, leadNS, now.Add(demoBeat).UnixNano()))
	d.armed.Store(&at)
	return nil
}

// pending says that a window is armed, and what that means in a demo; "" when none is.
func (d *demo) pending() string {
	at := d.armed.Load()
	if at == nil {
		return ""
	}
	return fmt.Sprintf("this is a recording: it goes on with its next window, in %.1f s", max(0, at.Sub(d.now()).Seconds()))
}

// order arms a window from any goroutine.
func (d *demo) order(ctx context.Context) (said string, err error) {
	o := order{answer: make(chan error, 1)}
	select {
	case d.orders <- o:
	case <-d.ended:
		return "", errEnded
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if err := <-o.answer; err != nil {
		return "", err
	}
	return "window armed. This is a recording: it jumps to its next window", nil
}

// nextStart is the line that starts the next window, in this round or the next.
func (p *player) nextStart() (line int, ok bool) {
	n := len(p.lines)
	for k := range n {
		i := (p.next + k) % n
		if _, ok := startOf(p.lines[i].line); ok {
			return i, true
		}
	}
	return 0, false
}

// jump goes on with the step that is due leadNS of replayed time before line to, as if nothing had been in between: it is submitted at wallNS,
// and step indices and clocks go on. It returns when line to is due now.
func (p *player) jump(to int, leadNS, wallNS int64) (dueNS int64) {
	from := p.lines[to].dueNS - int64(float64(leadNS)*p.clock.speed)
	at := to
	for i := range to {
		if p.lines[i].step && p.lines[i].dueNS >= from {
			at = i
			break
		}
	}
	if at < p.next {
		p.round++
	}
	p.next = at
	step, _ := number(p.lines[at].line, "step_index")
	p.moved = p.lastStep + 1 - step - p.round*p.steps
	submitted, _ := number(p.lines[at].line, "submit_mono_ns")
	took := scaleNS(p.lines[at].dueNS-(submitted-p.baseMonoNS), p.clock.speed)
	moved := wallNS + max(0, took) - p.dueWallNS()
	p.clock.zeroWallNS += moved
	p.clock.zeroMonoNS += moved
	return p.dueWallNS() + scaleNS(p.lines[to].dueNS-p.lines[at].dueNS, p.clock.speed)
}
