package vllm

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Sample is one line of a Prometheus text exposition.
type Sample struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// Metrics is a snapshot of /metrics. Bad lines are counted, not fatal.
type Metrics struct {
	Samples  []Sample
	BadLines int64
	FirstBad string
	SavedNS  int64 // when a snapshot in a file was written, ns since 1970; 0 when not known
}

// maxSamples bounds the samples of a snapshot; vLLM has some hundred for each engine.
const maxSamples = 100_000

// ReadMetrics reads the text format of Prometheus. Only an I/O error ends it, and more samples than any server has.
func ReadMetrics(r io.Reader) (Metrics, error) {
	var m Metrics
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), 4<<20)
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		s, why := parseSample(line)
		if why != "" {
			m.BadLines++
			if m.FirstBad == "" {
				m.FirstBad = fmt.Sprintf("line %d: %s", n, why)
			}
			continue
		}
		if len(m.Samples) == maxSamples {
			return m, fmt.Errorf("cannot read metrics: line %d: more than %d samples: that is no vLLM server", n, maxSamples)
		}
		m.Samples = append(m.Samples, s)
	}
	if err := in.Err(); err != nil {
		return m, fmt.Errorf("cannot read metrics: %w", err)
	}
	return m, nil
}

func parseSample(line string) (Sample, string) {
	var s Sample
	i := strings.IndexAny(line, "{ \t")
	if i <= 0 {
		return s, "expected a name and a value"
	}
	s.Name = line[:i]
	rest := line[i:]
	if rest[0] == '{' {
		var why string
		if s.Labels, rest, why = parseLabels(rest[1:]); why != "" {
			return s, why
		}
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return s, "expected a value"
	}
	v, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return s, fmt.Sprintf("the value is not a number: %.40q", fields[0])
	}
	s.Value = v
	return s, ""
}

func parseLabels(s string) (map[string]string, string, string) {
	labels := map[string]string{}
	for {
		s = strings.TrimLeft(s, " ,")
		if strings.HasPrefix(s, "}") {
			return labels, s[1:], ""
		}
		name, rest, ok := strings.Cut(s, "=")
		if !ok || !strings.HasPrefix(rest, `"`) {
			return nil, "", "expected label=\"value\""
		}
		value, after, ok := quoted(rest[1:])
		if !ok {
			return nil, "", "a label's value does not end"
		}
		labels[strings.TrimSpace(name)] = value
		s = after
	}
}

// quoted reads up to the closing quote, resolving the format's three escapes.
func quoted(s string) (value, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:], true
		case s[i] == '\\' && i+1 < len(s):
			i++
			if s[i] == 'n' {
				b.WriteByte('\n')
			} else {
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

// Sum adds the samples of a name over all label sets that hold every given label=value pair. ok is false when there is none.
func (m Metrics) Sum(name string, pairs ...string) (sum float64, ok bool) {
	for _, s := range m.Samples {
		if s.Name == name && s.has(pairs) && !math.IsNaN(s.Value) {
			sum += s.Value
			ok = true
		}
	}
	return sum, ok
}

// Label is the value of a label on the first sample of a name.
func (m Metrics) Label(name, label string) (string, bool) {
	for _, s := range m.Samples {
		if s.Name == name {
			v, ok := s.Labels[label]
			return v, ok
		}
	}
	return "", false
}

func (s Sample) has(pairs []string) bool {
	for i := 0; i+1 < len(pairs); i += 2 {
		if s.Labels[pairs[i]] != pairs[i+1] {
			return false
		}
	}
	return true
}
