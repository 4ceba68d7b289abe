package session

import (
	"bytes"
	"errors"
)

// A replay turns a recorded stream into an endless one: its steps up to the first gap in the step index, round after round, with times
// and indices carried on.
type replay struct {
	header                 []byte
	lines                  []recorded
	baseWallNS, baseMonoNS int64 // first submit
	loopNS                 int64 // recorded time from one round's first submit to the next round's
	firstStep, steps       int64 // step index of the first step, steps in one round
}

// recorded is one line and when the server could have written it: ns after the first submit.
type recorded struct {
	line  []byte
	dueNS int64
	step  bool
}

// seamNS is the pause between two rounds, in recorded time: about one ordinary step period.
const seamNS = 12_000_000

var errNoSteps = errors.New("the recording has no header or no steps")

// newReplay cuts a stream into what is replayed. It trusts the stream's layout: it is one of the embedded recordings.
func newReplay(stream []byte) (*replay, error) {
	r := &replay{}
	var lastStep int64
	for line := range bytes.Lines(stream) {
		step, isStep := number(line, "step_index")
		switch {
		case isStep && lastStep == 0:
			r.firstStep = step
			r.baseWallNS, _ = number(line, "submit_wall_ns")
			r.baseMonoNS, _ = number(line, "submit_mono_ns")
		case isStep && step != lastStep+1:
			return r.close(lastStep)
		case !isStep && bytes.Contains(line, []byte(`"type":"header"`)):
			r.header = line
			continue
		}
		dueNS, ok := dueOf(line, isStep)
		if !ok || (!isStep && lastStep == 0) {
			continue
		}
		if isStep {
			lastStep = step
		}
		r.lines = append(r.lines, recorded{line: line, dueNS: dueNS - r.baseMonoNS, step: isStep})
	}
	return r.close(lastStep)
}

// dueOf is the moment from which a line can be on disk: a step's completion, the return of a marker's call. Other lines are not replayed.
func dueOf(line []byte, isStep bool) (int64, bool) {
	if isStep {
		return number(line, "complete_mono_ns")
	}
	return number(line, "return_mono_ns")
}

// close ends the round with its last step: a marker behind it would repeat out of order at the seam.
func (r *replay) close(lastStep int64) (*replay, error) {
	for len(r.lines) > 0 && !r.lines[len(r.lines)-1].step {
		r.lines = r.lines[:len(r.lines)-1]
	}
	if len(r.lines) == 0 || r.header == nil {
		return nil, errNoSteps
	}
	// A line cannot have been written later than the one behind it.
	for i := len(r.lines) - 2; i >= 0; i-- {
		r.lines[i].dueNS = min(r.lines[i].dueNS, r.lines[i+1].dueNS)
	}
	r.loopNS = r.lines[len(r.lines)-1].dueNS + seamNS
	r.steps = lastStep - r.firstStep + 1
	return r, nil
}

// clock says where a replay's moments lie: its first submit of round 0 at zeroWallNS and zeroMonoNS, and recorded time passing speed
// times as fast.
type clock struct {
	zeroWallNS, zeroMonoNS int64
	speed                  float64
}

// player yields a replay's lines one by one from some moment on. Step indices begin at 1.
type player struct {
	*replay
	clock clock
	round int64
	next  int
	moved int64 // added to the recorded step indices of round 0

	lastStep int64 // index of the newest step, as it was written
}

// playFrom starts at the first step due at or after fromNS, a moment of the replay. It may be negative: rounds before the first.
func (r *replay) playFrom(fromNS int64, c clock) *player {
	p := &player{replay: r, clock: c, round: floorDiv(fromNS, r.loopNS)}
	inRound := fromNS - p.round*r.loopNS
	for p.next < len(r.lines)-1 && (!r.lines[p.next].step || r.lines[p.next].dueNS < inRound) {
		p.next++
	}
	step, _ := number(r.lines[p.next].line, "step_index")
	p.moved = 1 - step - p.round*r.steps
	return p
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// shift is how the lines of the current round move.
func (p *player) shift() shift {
	since := scaleNS(p.round*p.loopNS, p.clock.speed)
	return shift{
		baseWallNS: p.baseWallNS, baseMonoNS: p.baseMonoNS,
		wallNS: p.clock.zeroWallNS + since, monoNS: p.clock.zeroMonoNS + since,
		speed: p.clock.speed, steps: p.moved + p.round*p.steps,
	}
}

// appendHeader appends the stream's header, as if the server had started right before the player's first line.
func (p *player) appendHeader(dst []byte) []byte {
	s := p.shift()
	since := scaleNS(p.lines[p.next].dueNS, p.clock.speed)
	s.wallNS += since
	s.monoNS += since
	return s.appendLine(dst, p.header)
}

// dueWallNS is the wall time from which the next line can be on disk.
func (p *player) dueWallNS() int64 {
	return p.clock.zeroWallNS + scaleNS(p.round*p.loopNS, p.clock.speed) + scaleNS(p.lines[p.next].dueNS, p.clock.speed)
}

// appendNext appends the next line and moves on.
func (p *player) appendNext(dst []byte) []byte {
	s := p.shift()
	line := p.lines[p.next].line
	if step, ok := number(line, "step_index"); ok {
		p.lastStep = step + s.steps
	}
	dst = s.appendLine(dst, line)
	if p.next++; p.next == len(p.lines) {
		p.next = 0
		p.round++
	}
	return dst
}
