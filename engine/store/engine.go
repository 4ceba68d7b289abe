package store

import (
	"slices"
	"strings"

	"opprof/engine/record"
)

// engine is the writer's side of one EngineCore.
type engine struct {
	id      string
	stream  int // newest stream it writes
	header  *record.Header
	footer  *record.Footer
	loss    Loss
	dummies int64

	steps    int64
	sequence Sequence // of the newest stream

	ring      []*block // sealed, oldest first
	ringLimit int
	open      *block
	coverNS   int64 // every step later than this is in the ring; -1 while all are

	tiers   *tiers
	windows windows

	version   uint64 // of the store, at the last change
	snapshots uint64 // views given so far
	view      *engineView
}

func newEngine(id string, stream, ringSteps int) *engine {
	return &engine{
		id: id, stream: stream, ringLimit: max(1, (ringSteps+blockSteps-1)/blockSteps), open: newBlock(firstBlockCap),
		coverNS: -1, tiers: newTiers(),
	}
}

// add takes a step that the sequence of its stream has placed.
func (e *engine) add(s *record.Step, p Place) {
	e.steps++
	e.loss.Dropped += s.DroppedBefore
	if p.Backward {
		e.loss.Backward++
		e.windows.restart(p.TimeNS)
	} else if p.Missing {
		e.loss.Gaps++
	}
	if p.OffAxis {
		e.loss.Unplaced++
		return
	}
	e.tiers.add(s, p)
	e.windows.add(s, p)
	e.open.add(s, p)
	if e.open.len() == blockSteps {
		e.seal()
	}
}

func (e *engine) seal() {
	sealed := e.open.view()
	if len(e.ring) < e.ringLimit {
		e.ring = append(e.ring, sealed)
		e.open = newBlock(blockSteps)
	} else {
		oldest := e.ring[0]
		e.coverNS = max(e.coverNS, oldest.lastNS())
		copy(e.ring, e.ring[1:])
		e.ring[len(e.ring)-1] = sealed
		if oldest.born == e.snapshots && cap(oldest.steps) >= blockSteps {
			e.open = oldest.reuse()
		} else {
			e.open = newBlock(blockSteps)
		}
	}
	e.open.born = e.snapshots
}

// mark takes a profile marker; it may come before the engine's first step.
func (e *engine) mark(p *record.Profile, offsetNS int64) {
	at := p.MonoNS + offsetNS
	if at < 0 || at > lastAxisNS {
		return
	}
	e.windows.mark(p, at)
}

// snapshot is the engine as it is now. It is built again only after a change.
func (e *engine) snapshot(stream string) *engineView {
	if e.view != nil && e.view.version == e.version && e.view.row.Stream == stream {
		return e.view
	}
	v := &engineView{version: e.version, coverFromNS: e.coverNS, coverToNS: lastAxisNS, skewNS: e.sequence.SkewNS}
	v.row = Engine{
		ID: e.id, Stream: stream, Header: e.header, Footer: e.footer, Steps: e.steps,
		LastStep: e.sequence.LastStep, Loss: e.loss, Dummies: e.dummies,
	}
	if e.footer != nil {
		v.row.Loss.Dropped = max(v.row.Loss.Dropped, e.footer.Dropped)
	}
	v.blocks = slices.Clone(e.ring)
	if e.open.len() > 0 {
		v.blocks = append(v.blocks, e.open.view())
	}
	v.tiers, v.run = e.tiers.view()
	v.row.FirstStep = v.run.FirstStep
	v.windows = e.windows.view()
	e.snapshots++
	e.view = v
	return v
}

// rank is the part of an engine id that stays when its process is replaced: "dp0" of "dp0-pid1234".
func rank(id string) string {
	if at := strings.LastIndex(id, "-pid"); at >= 0 {
		return id[:at]
	}
	return id
}
