package kineto

import (
	"bytes"
	"fmt"
	"strings"
)

// kind is what an event means to OpProf.
type kind uint8

const (
	skip kind = iota
	device
	launch
	label
	twin
	cpuOp
)

// kindOf maps a category to its kind, and device work to its class. Names before torch 1.13 were capitalised; ROCm keeps the CUDA names.
func kindOf(cat []byte) (kind, Class) {
	switch string(cat) {
	case "kernel", "Kernel":
		return device, Kernel
	case "gpu_memcpy", "Memcpy":
		return device, Copy
	case "gpu_memset", "Memset":
		return device, Set
	case "cuda_runtime", "cuda_driver", "Runtime", "hip_runtime", "xpu_runtime", "privateuse1_runtime", "privateuse1_driver":
		return launch, 0
	case "user_annotation":
		return label, 0
	case "gpu_user_annotation":
		return twin, 0
	case "cpu_op", "Operator":
		return cpuOp, 0
	}
	return skip, 0
}

// fields are the raw values of one event, as slices of the window.
type fields struct {
	ph, cat, name            []byte
	pid, tid, ts, dur        []byte
	correlation, stream, dev []byte
	grid, block              []byte
	haveArgs                 bool
}

var (
	kinetoOpening = []byte(`"ph": "X", "cat": "`)
	kinetoName    = []byte(`", "name": "`)
	kinetoPID     = []byte(`", "pid": `)
	kinetoTID     = []byte(`, "tid": `)
	kinetoTS      = []byte(`"ts": `)
	kinetoDur     = []byte(`, "dur": `)
	keyDevice     = []byte(`"device": `)
	keyStream     = []byte(`"stream": `)
	keyCorr       = []byte(`"correlation": `)
	keyGrid       = []byte(`"grid": [`)
	keyBlock      = []byte(`"block": [`)
)

// take reads an event in the layout that Kineto writes. It reports false when the event is laid out otherwise, so that the general
// scanner has a look. Cutting the name at the key that follows it makes a name with bare quotes readable.
func (s *scanner) take(ev []byte) bool {
	b := ev[blank(ev, 1):]
	if !bytes.HasPrefix(b, kinetoOpening) {
		return s.takeOther(b)
	}
	b = b[len(kinetoOpening):]
	end := bytes.IndexByte(b, '"')
	if end < 0 {
		return false
	}
	cat := b[:end]
	k, class := kindOf(cat)
	switch k {
	case skip:
		return true
	case cpuOp:
		s.t.CPUOps++
		return true
	}
	b = b[end:]
	f := &s.fields
	*f = fields{cat: cat}
	ok := false
	if b, ok = bytes.CutPrefix(b, kinetoName); !ok {
		return false
	}
	if f.name, b, ok = bytes.Cut(b, kinetoPID); !ok {
		return false
	}
	if f.pid, b, ok = bytes.Cut(b, kinetoTID); !ok || len(f.pid) > 64 {
		return false
	}
	i := bytes.Index(b, kinetoTS)
	if i < 0 || i > 128 {
		return false
	}
	f.tid = bytes.TrimRight(b[:i], " \n\r\t,")
	b = b[i+len(kinetoTS):]
	f.ts, b = number(b)
	if b, ok = bytes.CutPrefix(b, kinetoDur); !ok {
		return false
	}
	f.dur, b = number(b)
	f.args(b, k)
	return s.keep(k, class, ev) == ""
}

// takeOther answers the events of Kineto's layout that are never kept: flows, counters and rows' names.
func (s *scanner) takeOther(b []byte) bool {
	if len(b) > 8 && string(b[:7]) == `"ph": "` {
		switch b[7] {
		case 's', 'f', 't', 'M', 'C':
			return true
		}
	}
	return false
}

// args finds the arguments that matter. Each is looked for behind the one before, as Kineto writes them, and then anywhere.
func (f *fields) args(args []byte, k kind) {
	if k == label || k == twin {
		return
	}
	f.haveArgs = true
	if k == launch {
		f.correlation, _ = number(after(args, args, keyCorr))
		return
	}
	b := args
	f.dev, b = number(after(b, args, keyDevice))
	f.stream, b = number(after(b, args, keyStream))
	f.correlation, b = number(after(b, args, keyCorr))
	f.grid, b = list(after(b, args, keyGrid))
	f.block, _ = list(after(b, args, keyBlock))
}

// after is what follows a key in b or else in all the arguments; nil when it is in neither.
func after(b, args, key []byte) []byte {
	if i := bytes.Index(b, key); i >= 0 {
		return b[i+len(key):]
	}
	if i := bytes.Index(args, key); i >= 0 {
		return args[i+len(key):]
	}
	return nil
}

// list cuts what stands before a closing bracket off the front of b.
func list(b []byte) (value, rest []byte) {
	end := bytes.IndexByte(b, ']')
	if end < 0 || end > 64 {
		return nil, b
	}
	return b[:end], b[end:]
}

// number cuts a JSON number, quoted or not, off the front of b.
func number(b []byte) (value, rest []byte) {
	if len(b) > 0 && b[0] == '"' {
		end := bytes.IndexByte(b[1:], '"')
		if end < 0 {
			return nil, b
		}
		return b[1 : 1+end], b[end+2:]
	}
	i := 0
	for i < len(b) && (b[i] >= '0' && b[i] <= '9' || b[i] == '.' || b[i] == '-' || b[i] == '+' || b[i] == 'e' || b[i] == 'E') {
		i++
	}
	return b[:i], b[i:]
}

// keep turns the fields into a part of the trace. It returns why it could not, or "".
func (s *scanner) keep(k kind, class Class, ev []byte) string {
	f := &s.fields
	ts, ok := parseNS(f.ts)
	if !ok {
		return fmt.Sprintf("the time of a %s event is not a number: ts %.32q", f.cat, f.ts)
	}
	dur, ok := parseNS(f.dur)
	if isNanoseconds(f.ts) {
		dur, ok = parseInt(f.dur)
	}
	if !ok && len(f.dur) > 0 {
		return fmt.Sprintf("the duration of a %s event is not a number: dur %.32q", f.cat, f.dur)
	}
	switch k {
	case device:
		return s.keepDevice(class, ts, dur)
	case launch:
		if len(s.t.Launches) >= s.o.MaxEvents {
			return fmt.Sprintf("more than %d launches: the rest is not kept", s.o.MaxEvents)
		}
		if c, ok := parseUint32(f.correlation); ok && c != 0 {
			s.t.Launches = append(s.t.Launches, Launch{StartNS: ts, DurNS: dur, Correlation: c, Name: s.name(f.name), Thread: s.thread(f.tid)})
		}
	case label, twin:
		if len(s.t.Labels)+len(s.t.Twins) >= s.o.MaxEvents {
			return fmt.Sprintf("more than %d ranges: the rest is not kept", s.o.MaxEvents)
		}
		pid, _ := parseInt(f.pid)
		tid, _ := parseInt(f.tid)
		l := Label{Name: s.name(f.name), StartNS: ts, DurNS: dur, PID: pid, TID: tid}
		if k == label {
			s.t.Labels = append(s.t.Labels, l)
		} else {
			s.t.Twins = append(s.t.Twins, l)
		}
	}
	return ""
}

func (s *scanner) keepDevice(class Class, ts, dur int64) string {
	f := &s.fields
	if s.t.Events.Len() >= s.o.MaxEvents {
		return fmt.Sprintf("more than %d device events: the rest is not kept", s.o.MaxEvents)
	}
	e := DeviceEvent{StartNS: ts, DurNS: dur, Name: s.name(f.name), Class: class}
	e.Correlation, _ = parseUint32(f.correlation)
	stream := f.stream
	if len(stream) == 0 {
		stream = f.tid
	}
	dev := f.dev
	if len(dev) == 0 {
		dev = f.pid
	}
	e.Stream = s.row(dev, stream)
	if class == Kernel && (len(f.grid) > 0 || len(f.block) > 0) {
		e.Shape = s.shapeOf(f.grid, f.block)
	}
	s.t.Events.add(e)
	return ""
}

// name interns a name. A name with escapes is unescaped first; one with bytes that are not text keeps them as the replacement rune.
func (s *scanner) name(b []byte) int32 {
	if i, ok := s.names[string(b)]; ok {
		return i
	}
	text := string(b)
	if strings.IndexByte(text, '\\') >= 0 {
		text = unescape(text)
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	i, ok := s.names[text]
	if !ok && s.nameBytes+len(text) > maxNameBytes {
		return 0
	}
	if !ok {
		s.nameBytes += len(text)
		i = int32(len(s.t.Names))
		s.t.Names = append(s.t.Names, text)
		s.names[text] = i
	}
	if s.nameBytes += len(b); s.nameBytes < maxNameBytes {
		s.names[string(b)] = i
	}
	return i
}

func (s *scanner) row(dev, stream []byte) uint16 {
	d, _ := parseInt(digits(dev))
	n, _ := parseInt(digits(stream))
	key := Stream{Device: d, Stream: n}
	if key == s.lastStream && len(s.t.Streams) > 0 {
		return s.lastRow
	}
	i, ok := s.streams[key]
	if !ok {
		if len(s.t.Streams) > 1<<16-2 {
			return 1<<16 - 1
		}
		i = uint16(len(s.t.Streams))
		s.t.Streams = append(s.t.Streams, key)
		s.streams[key] = i
	}
	s.lastStream, s.lastRow = key, i
	return i
}

// digits drops the word before a number: rows of 2021 are called "stream 7".
func digits(b []byte) []byte {
	if i := bytes.LastIndexByte(b, ' '); i >= 0 {
		return b[i+1:]
	}
	return b
}

func (s *scanner) thread(tid []byte) uint16 {
	n, _ := parseInt(tid)
	i, ok := s.threads[n]
	if !ok {
		i = uint16(min(len(s.threads), 1<<16-1))
		s.threads[n] = i
	}
	return i
}

// shapeOf interns a launch shape by its text: most launches have one of few.
func (s *scanner) shapeOf(grid, block []byte) int32 {
	s.key = append(append(append(s.key[:0], grid...), '|'), block...)
	i, ok := s.shapeTexts[string(s.key)]
	if !ok {
		i = s.shape(Shape{Grid: triple(grid), Block: triple(block)})
		if len(s.shapeTexts) < maxShapeTexts {
			s.shapeTexts[string(s.key)] = i
		}
	}
	return i
}

// maxShapeTexts bounds the texts of shapes that are remembered.
const maxShapeTexts = 1 << 16

func (s *scanner) shape(v Shape) int32 {
	i, ok := s.shapes[v]
	if !ok {
		i = int32(len(s.t.Shapes))
		s.t.Shapes = append(s.t.Shapes, v)
		s.shapes[v] = i
	}
	return i
}
