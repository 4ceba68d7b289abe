package kineto

import "bytes"

// events walks the event list, one object after the other, until its bracket closes or the stream ends.
func (s *scanner) events() {
	s.inEvents, s.look = true, firstLook
	s.layout()
	damaged := false
	for s.w.space() {
		switch s.w.rest()[0] {
		case '{':
			damaged = false
			s.t.Objects++
			if !s.object() {
				return
			}
		case ']':
			s.w.pos++
			if !damaged || s.ends() {
				s.listClosed = true
				return
			}
		default:
			if !damaged {
				s.fault(s.w.offset(), "expected an event, found %q", s.w.rest()[0])
			}
			damaged = true
			s.w.pos++
			s.skipTo('{', ']')
		}
	}
}

// ends reports whether the list that was just closed is the list of events, and not a bracket within damage: the outermost object goes on with
// a key or closes, or the stream ends.
func (s *scanner) ends() bool {
	if !s.w.space() {
		return true
	}
	c := s.w.rest()[0]
	return c == '}' || c == '"'
}

// skipTo moves to the next of two bytes.
func (s *scanner) skipTo(a, b byte) {
	for {
		rest := s.w.rest()
		i := bytes.IndexByte(rest, a)
		j := bytes.IndexByte(rest, b)
		if i < 0 || (j >= 0 && j < i) {
			i = j
		}
		if i >= 0 {
			s.w.pos += i
			return
		}
		s.w.pos = len(s.w.buf)
		if !s.w.fill() {
			return
		}
	}
}

// layout looks at the white space before the first event. A trace that closes every event on a line of its own, indented less than the
// lines inside the event, can be cut at those lines: fast, and blind to what a damaged string holds.
func (s *scanner) layout() {
	before := s.w.offset()
	if !s.w.space() || s.w.rest()[0] != '{' {
		return
	}
	gap := int(s.w.offset() - before)
	s.opening = firstKey(s.w.rest())
	lead := s.w.buf[s.w.pos-min(gap, s.w.pos) : s.w.pos]
	nl := bytes.LastIndexByte(lead, '\n')
	if nl < 0 || len(lead)-nl-1 == 0 {
		return
	}
	indent := lead[nl:]
	if !s.w.need(len(indent)+3) || s.w.rest()[1] != '\n' || !isDeeper(s.w.rest()[1:], indent) {
		return
	}
	s.closer = append(bytes.Clone(indent), '}')
}

// isDeeper reports whether the line that begins at b's newline is indented more than indent.
func isDeeper(b, indent []byte) bool {
	return bytes.HasPrefix(b, indent) && len(b) > len(indent) && (b[len(indent)] == ' ' || b[len(indent)] == '\t')
}

// object reads or skips the event at the current position. It reports whether the list may go on.
func (s *scanner) object() bool {
	if s.closer != nil {
		if n := s.w.find(s.closer, 0, maxObject); n >= 0 {
			n += len(s.closer)
			if s.take(s.w.rest()[:n]) {
				s.w.pos += n
				s.inARow = 0
				return true
			}
		}
	}
	return s.matched()
}

const (
	// firstLook is how much of an event is searched for its end before a swallowed neighbour is looked for. Each failure halves it, down to
	// shortLook, so that a stretch of nothing but openings costs time in proportion to its length.
	firstLook = 64 << 10
	shortLook = 1 << 10
	// maxFaultsInARow is how many damaged events one after the other end the reading: what follows is not a trace.
	maxFaultsInARow = 1 << 16
)

// matched cuts the event by its braces. Where a bare quote turns strings inside out, the next event's opening is the way back.
func (s *scanner) matched() bool {
	start := s.w.offset()
	n := s.boundedLen(s.look)
	if n < 0 && s.nextOpening(s.w.rest()) < 0 {
		n = s.boundedLen(maxObject)
	}
	if n >= 0 {
		why := s.generic(s.w.rest()[:n])
		if why == "" {
			s.w.pos += n
			s.look, s.inARow = firstLook, 0
			return true
		}
		if cut := s.nextOpening(s.w.rest()[:n]); cut > 0 {
			n = cut
		}
		s.fault(start, "%s", why)
		s.w.pos += n
		return true
	}
	s.look = max(s.look/2, shortLook)
	if cut := s.nextOpening(s.w.rest()); cut > 0 {
		s.fault(start, "an event's quotes or braces do not match")
		s.w.pos += cut
		if s.inARow++; s.inARow > maxFaultsInARow {
			s.fault(start, "nothing but damage for %d events: the rest is not read", s.inARow)
			s.w.pos = len(s.w.buf)
			return false
		}
		return true
	}
	if s.w.eof {
		s.fault(start, "the stream ends inside an event")
		s.w.pos = len(s.w.buf)
		return false
	}
	s.fault(start, "an event does not end")
	s.w.pos = len(s.w.buf)
	s.skipTo('{', ']')
	return true
}

// boundedLen is the length of the object at the current position when it ends within some bytes, else -1.
func (s *scanner) boundedLen(within int) int {
	var m matcher
	from := 0
	for {
		rest := s.w.rest()
		if n := m.end(rest[:min(len(rest), within)], from); n >= 0 {
			return n
		}
		if len(rest) >= within {
			return -1
		}
		from = len(rest)
		if !s.w.fill() {
			return -1
		}
	}
}

// nextOpening finds where another event begins after b's first byte: a brace, white space, and a key that opens the events of this
// file. -1 when there is none.
func (s *scanner) nextOpening(b []byte) int {
	for from := 1; from < len(b); {
		i := bytes.IndexByte(b[from:], '{')
		if i < 0 {
			return -1
		}
		i += from
		rest := bytes.TrimLeft(b[i+1:min(len(b), i+64)], " \n\r\t")
		if bytes.HasPrefix(rest, []byte(`"ph"`)) || (len(s.opening) > 0 && bytes.HasPrefix(rest, s.opening)) {
			return i
		}
		from = i + 1
	}
	return -1
}

// firstKey is the quoted key that opens the object at b, or nil.
func firstKey(b []byte) []byte {
	b = bytes.TrimLeft(b[1:min(len(b), 128)], " \n\r\t")
	if len(b) == 0 || b[0] != '"' {
		return nil
	}
	end := bytes.IndexByte(b[1:], '"')
	if end < 0 {
		return nil
	}
	return bytes.Clone(b[:end+2])
}
