package supervisor

import (
	"bytes"
	"cmp"
	"slices"

	"opprof/engine/journal"
)

// ledger is the journal as the loop sees it: events go in at once and are written in order by one goroutine at a time, so that a slow disk
// delays acknowledgements and nothing else.
type ledger struct {
	journal *journal.Journal
	waiting []pending
	writing bool
	lines   []journal.Entry // on disk, oldest first
	lastSeq int64
	failed  error
	readers map[chan struct{}]bool // woken when there are more lines

	batchWaits []chan<- error // told when the batch that is being written is
}

type pending struct {
	event   string
	payload any
	written func(error) // called on the loop once the event is on disk or lost; may be nil
}

func newLedger(j *journal.Journal, found *journal.Replay) ledger {
	return ledger{journal: j, readers: map[chan struct{}]bool{}, lastSeq: found.Last().Seq, lines: found.Entries}
}

// add queues an event.
func (l *ledger) add(event string, payload any, written func(error)) {
	l.waiting = append(l.waiting, pending{event, payload, written})
}

// onWritten reports to c, which has room, once all that was added so far is on disk, or why it is not.
func (l *ledger) onWritten(c chan<- error) {
	switch {
	case l.failed != nil:
		c <- l.failed
	case len(l.waiting) > 0:
		last := &l.waiting[len(l.waiting)-1]
		before := last.written
		last.written = func(err error) {
			if before != nil {
				before(err)
			}
			c <- err
		}
	case l.writing:
		l.batchWaits = append(l.batchWaits, c)
	default:
		c <- nil
	}
}

// take hands the queue to a writer, unless one is at work or there is nothing to write.
func (l *ledger) take() []pending {
	if l.writing || len(l.waiting) == 0 {
		return nil
	}
	batch := l.waiting
	l.waiting, l.writing = nil, true
	return batch
}

// outcome is what became of a batch: the lines that are on disk, and why the rest is not.
type outcome struct {
	entries []journal.Entry
	err     error
}

// write runs outside the loop. After a failure the journal refuses everything: what follows a lost event would not be true.
func write(j *journal.Journal, batch []pending) outcome {
	var out outcome
	for _, p := range batch {
		e, err := j.Append(p.event, p.payload)
		if err != nil {
			out.err = err
			break
		}
		e.Raw = bytes.Clone(e.Raw)
		out.entries = append(out.entries, e)
	}
	return out
}

// settle takes a writer's outcome and acknowledges.
func (l *ledger) settle(batch []pending, out outcome) {
	l.writing = false
	for _, e := range out.entries {
		l.lines = append(l.lines, e)
		l.lastSeq = e.Seq
	}
	if out.err != nil && l.failed == nil {
		l.failed = out.err
	}
	for i, p := range batch {
		if p.written == nil {
			continue
		}
		if i < len(out.entries) {
			p.written(nil)
		} else {
			p.written(out.err)
		}
	}
	for _, c := range l.batchWaits {
		c <- out.err
	}
	l.batchWaits = nil
	l.wake()
}

func (l *ledger) wake() {
	for c := range l.readers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// after are the lines behind a sequence number.
func (l *ledger) after(seq int64) []journal.Entry {
	i, _ := slices.BinarySearchFunc(l.lines, seq+1, func(e journal.Entry, want int64) int { return cmp.Compare(e.Seq, want) })
	return l.lines[i:]
}

func (l *ledger) idle() bool { return !l.writing && len(l.waiting) == 0 }
