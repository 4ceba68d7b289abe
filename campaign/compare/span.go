package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

type spanUnit uint8

const (
	spanAll spanUnit = iota
	spanSteps
	spanSince
	spanClock
)

// Span is a stretch of a run: of step indices, of time since its first step, or of times of day. The zero value is the whole run.
type Span struct {
	text     string
	unit     spanUnit
	from, to int64 // inclusive
}

const spanForms = "expected FROM..TO of step indices (1200..5000), of times since the first step (30s..2m) or of times of day (2026-11-30T12:00:00Z..); " +
	"either may be left out"

// ParseSpan reads FROM..TO; "" is the whole run.
func ParseSpan(text string) (Span, error) {
	s := Span{text: text, from: math.MinInt64, to: math.MaxInt64}
	if text == "" {
		return s, nil
	}
	from, to, ok := strings.Cut(text, "..")
	if !ok {
		return Span{}, fmt.Errorf("cannot read span %q: %s", text, spanForms)
	}
	for _, end := range []struct {
		text string
		at   *int64
	}{{strings.TrimSpace(from), &s.from}, {strings.TrimSpace(to), &s.to}} {
		if end.text == "" {
			continue
		}
		unit, at, ok := parsePlace(end.text)
		if !ok || s.unit != spanAll && s.unit != unit {
			return Span{}, fmt.Errorf("cannot read span %q: %s", text, spanForms)
		}
		s.unit, *end.at = unit, at
	}
	if s.from > s.to {
		return Span{}, fmt.Errorf("cannot read span %q: it ends before it begins", text)
	}
	return s, nil
}

func parsePlace(text string) (spanUnit, int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return spanSteps, n, n >= 0
	}
	if d, err := time.ParseDuration(text); err == nil {
		return spanSince, int64(d), d >= 0
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return spanClock, t.UnixNano(), t.Year() > 1970 && t.Year() < 2116
	}
	return spanAll, 0, false
}

// String is the span as it was given.
func (s Span) String() string { return s.text }

// holds reports whether a step lies in the span. originNS is the time of the run's first step.
func (s Span) holds(index, timeNS, originNS int64) bool {
	at := timeNS
	switch s.unit {
	case spanAll:
		return true
	case spanSteps:
		at = index
	case spanSince:
		at = timeNS - originNS
	}
	return s.from <= at && at <= s.to
}
