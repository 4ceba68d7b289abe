package record

import "bytes"

// DecodeStats counts what a Decoder saw.
type DecodeStats struct {
	Lines    int64 // all lines, blank and bad ones too
	Steps    int64
	Bad      int64 // lines that are no record, a torn last line left out
	Torn     int64 // last lines without their end: 0 or 1 for a Reader
	Blank    int64 // lines of nothing but white space
	Fallback int64 // step lines that are not in the writer's layout byte for byte and took the slower scanner
	Bytes    int64 // of the lines, with their newlines where they had one
}

// FallbackShare is the part of the steps that took the slower scanner, in [0,1]; 0 without steps.
func (s DecodeStats) FallbackShare() float64 {
	if s.Steps == 0 {
		return 0
	}
	return float64(s.Fallback) / float64(s.Steps)
}

// Decoder decodes lines of one stream. It keeps the engine ids it has seen, so that a step allocates nothing. Not for concurrent use.
type Decoder struct {
	name        string
	stats       DecodeStats
	scan        scanner
	engines     interner
	lastOpening []byte // a step line up to the quote after its engine id
	lastEngine  string
}

// NewDecoder returns a Decoder for the lines of the stream called name, which stands in the errors.
func NewDecoder(name string) *Decoder { return &Decoder{name: name} }

// Stats returns the counts so far.
func (d *Decoder) Stats() DecodeStats { return d.stats }

// Decode decodes one line, given without its newline, into a Line that is reused. Number and Offset are the caller's to set before;
// they stand in the error of a bad line. It never fails: what is no record is KindBad with the reason in Err, a line of white space
// KindBlank.
func (d *Decoder) Decode(line []byte, into *Line) {
	if n := d.straight(line, &into.Step); n == len(line) || n == len(line)-1 && line[n] == '\r' {
		d.tookStep(into, len(line))
		return
	}
	d.decodeTolerant(line, into)
}

// Next decodes the line at the start of buf, without a search for its end where the line is in the writer's layout. It returns the
// number of bytes that the line takes with its newline, 0 when buf holds no newline. Otherwise it is like Decode.
func (d *Decoder) Next(buf []byte, into *Line) int {
	if n := d.straight(buf, &into.Step); n < len(buf) {
		if buf[n] == '\r' {
			n++
		}
		if n < len(buf) && buf[n] == '\n' {
			d.tookStep(into, n)
			d.stats.Bytes++
			return n + 1
		}
	}
	n := bytes.IndexByte(buf, '\n')
	if n < 0 {
		return 0
	}
	d.decodeTolerant(buf[:n], into)
	d.stats.Bytes++
	return n + 1
}

// Last decodes what stands after the last newline of a stream that will not grow. It is like Decode, but an object that is cut off is
// no bad line: its error has TornTail, and it is counted apart.
func (d *Decoder) Last(line []byte, into *Line) {
	d.Decode(line, into)
	if into.Kind != KindBad || line[0] != '{' || into.Err.Column < len(line) && line[len(line)-1] == '}' {
		return
	}
	into.Err.TornTail = true
	d.stats.Bad--
	d.stats.Torn++
}

// refuse counts a line that is bad for a reason outside its text.
func (d *Decoder) refuse(into *Line, newline int, reason string) {
	d.stats.Lines++
	d.stats.Bad++
	d.stats.Bytes += int64(into.Len + newline)
	into.Err = &LineError{Name: d.name, Line: into.Number, Offset: into.Offset, Reason: reason}
}

func (d *Decoder) tookStep(into *Line, n int) {
	d.stats.Lines++
	d.stats.Steps++
	d.stats.Bytes += int64(n)
	into.Kind, into.Len, into.Err = KindStep, n, nil
}

// decodeTolerant decodes a line that the straight-line path did not take.
func (d *Decoder) decodeTolerant(line []byte, into *Line) {
	d.stats.Lines++
	d.stats.Bytes += int64(len(line))
	into.Len, into.Err = len(line), nil
	switch into.Kind = d.scanLine(line, into); into.Kind {
	case KindStep:
		d.stats.Steps++
		d.stats.Fallback++
	case KindBlank:
		d.stats.Blank++
	case KindBad:
		d.stats.Bad++
		into.Err = &LineError{
			Name: d.name, Line: into.Number, Offset: into.Offset, Column: d.scan.at, Reason: d.scan.reason,
		}
	}
}

// scanLine reads a line of any layout. Most are steps, and only the end of a line can tell that it has no type: so it is read as a
// step first, and classified where that fails.
func (d *Decoder) scanLine(line []byte, into *Line) Kind {
	p := &d.scan
	p.reset(line)
	if p.space() == 0 && p.i == len(line) {
		return KindBlank
	}
	const typedStart = `{"type":`
	if !bytes.HasPrefix(line, []byte(typedStart)) {
		p.step(&into.Step, &d.engines)
		p.end()
		if !p.failed {
			return KindStep
		}
	}
	at, reason := p.at, p.reason
	p.reset(line)
	name, typed := p.classify()
	switch {
	case p.failed:
		return KindBad
	case !typed:
		p.fail(at, reason)
		return KindBad
	}
	p.reset(line)
	return d.scanTyped(name, into)
}

func (d *Decoder) scanTyped(name string, into *Line) Kind {
	p, kind := &d.scan, KindUnknown
	switch name {
	case "header":
		kind = KindHeader
		p.header(&into.Header, &d.engines)
	case "profile":
		kind = KindProfile
		p.profile(&into.Profile, &d.engines)
	case "dummy_step":
		kind = KindDummyStep
		p.dummy(&into.Dummy, &d.engines)
	case "footer":
		kind = KindFooter
		p.footer(&into.Footer, &d.engines)
	}
	if p.failed {
		return KindBad
	}
	return kind
}

// Limits of what is kept for a stream that names a new engine in every line.
const (
	maxIDs     = 1024
	maxIDBytes = 1024
)

// interner keeps the engine ids it has returned, so that each is allocated once.
type interner struct {
	ids map[string]string
}

func (n *interner) intern(id []byte) string {
	if s, ok := n.ids[string(id)]; ok {
		return s
	}
	s := string(id)
	if len(id) > maxIDBytes {
		return s
	}
	if n.ids == nil || len(n.ids) >= maxIDs {
		n.ids = make(map[string]string)
	}
	n.ids[s] = s
	return s
}
