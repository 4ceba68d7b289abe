package tail

import (
	"bytes"
	"io"
)

// markBytes covers a step line with its step index and clocks, which no other line has.
const markBytes = 2048

// mark recognises what was read of a part: its first bytes and the last ones, which end at end.
type mark struct {
	head, tail []byte
	end        int64
}

// extend adds bytes that follow what was read so far.
func (m *mark) extend(b []byte) {
	if int64(len(m.head)) == m.end {
		m.head = append(m.head, b[:min(len(b), markBytes-len(m.head))]...)
	}
	m.end += int64(len(b))
	m.tail = last(append(m.tail, last(b)...))
}

// skip passes over n bytes of which only the last ones are known.
func (m *mark) skip(n int64, b []byte) {
	m.end += n
	m.tail = append(m.tail[:0], last(b)...)
}

// take reads the mark of content of which everything before end counts as read.
func (m *mark) take(c content, end int64) error {
	k := min(end, markBytes)
	head, tail := make([]byte, k), make([]byte, k)
	if _, err := c.read(head, 0); err != nil {
		return err
	}
	if _, err := c.read(tail, end-k); err != nil {
		return err
	}
	*m = mark{head: head, tail: tail, end: end}
	return nil
}

type verdict uint8

const (
	same      verdict = iota // what was read is still there
	cut                      // the first bytes are, but there are fewer
	changed                  // the first bytes are, the last ones are others
	rewritten                // the first bytes are others
)

// compare looks for what was read in content.
func (m *mark) compare(c content) (verdict, error) {
	v, err := holds(c, m.head, 0)
	if v == changed {
		v = rewritten
	}
	if v != same || err != nil {
		return v, err
	}
	return holds(c, m.tail, m.end-int64(len(m.tail)))
}

// begins reports whether content starts as this part did.
func (m *mark) begins(c content) (bool, error) {
	v, err := holds(c, m.head, 0)
	return v == same, err
}

func holds(c content, want []byte, at int64) (verdict, error) {
	if len(want) == 0 {
		return same, nil
	}
	got := make([]byte, len(want))
	n, err := c.read(got, at)
	switch {
	case !bytes.Equal(got[:n], want[:n]):
		return changed, nil
	case n == len(want):
		return same, nil
	case err == nil || err == io.EOF || err == errTorn:
		return cut, nil
	}
	return same, err
}

func last(b []byte) []byte { return b[max(0, len(b)-markBytes):] }
