package session

import (
	"bytes"
	"strconv"
)

// shift moves a recorded line to another place in time: recorded times become from + (time - base) / speed.
type shift struct {
	baseWallNS, baseMonoNS int64
	wallNS, monoNS         int64 // where the base lies now
	speed                  float64
	steps                  int64 // added to step indices
}

func (s *shift) wall(ns int64) int64 { return s.wallNS + scaleNS(ns-s.baseWallNS, s.speed) }
func (s *shift) mono(ns int64) int64 { return s.monoNS + scaleNS(ns-s.baseMonoNS, s.speed) }

// scaleNS divides a stretch of time. Rounding is monotonic, so that shifted lines keep their order.
func scaleNS(ns int64, speed float64) int64 {
	if speed == 1 {
		return ns
	}
	return int64(float64(ns) / speed)
}

// Keys of a Layer-1 line that hold a moment or a step index; the shifts of nested keys of other lines need no more than the name.
var (
	wallSuffix = []byte("wall_ns")
	monoSuffix = []byte("mono_ns")
	stepSuffix = []byte("step_index")
	markSuffix = []byte("after_step")
)

// appendLine appends line with its moments and step indices shifted and everything else as it is.
func (s *shift) appendLine(dst, line []byte) []byte {
	for {
		colon := bytes.Index(line, []byte(`":`))
		if colon < 0 {
			return append(dst, line...)
		}
		key, value := line[:colon], line[colon+2:]
		dst = append(dst, line[:colon+2]...)
		line = value
		digits := 0
		for digits < len(value) && value[digits] >= '0' && value[digits] <= '9' {
			digits++
		}
		n, err := strconv.ParseInt(string(value[:digits]), 10, 64)
		if err != nil {
			continue
		}
		switch {
		case bytes.HasSuffix(key, wallSuffix):
			n = s.wall(n)
		case bytes.HasSuffix(key, monoSuffix):
			n = s.mono(n)
		case bytes.HasSuffix(key, stepSuffix), bytes.HasSuffix(key, markSuffix):
			n += s.steps
		default:
			continue
		}
		dst = strconv.AppendInt(dst, n, 10)
		line = value[digits:]
	}
}

// number returns the integer after "key": in a line of a recording.
func number(line []byte, key string) (int64, bool) {
	_, rest, ok := bytes.Cut(line, []byte(`"`+key+`":`))
	if !ok {
		return 0, false
	}
	end := bytes.IndexAny(rest, ",}")
	if end < 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(rest[:end]), 10, 64)
	return n, err == nil
}
