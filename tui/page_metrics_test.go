package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"opprof/engine/meter"
	"opprof/engine/rundir"
	"opprof/engine/vllm"
	"opprof/tui/theme"
)

// meterSource is a server without a run.
type meterSource struct {
	reading *meter.Reading
	err     error
}

func (s *meterSource) Run() rundir.Description {
	return rundir.Description{ID: s.reading.Addr, Kind: "server"}
}
func (s *meterSource) Reading(context.Context) (*meter.Reading, error) { return s.reading, s.err }

var meterNow = time.Unix(1_796_003_500, 0)

func of[T any](v T) *T { return &v }

// readingOf is a busy server with a minute of history, in which it was silent for some seconds.
func readingOf() *meter.Reading {
	bucket := func(above, to int64) *meter.Bucket { return &meter.Bucket{AboveNS: above * 1e6, ToNS: of(to * 1e6)} }
	r := &meter.Reading{Addr: "http://gpu7:8000", AtNS: meterNow.UnixNano(), State: meter.Answers, Healthy: of(true), Version: of("0.24.0"),
		Models: []vllm.ServedModel{{ID: "Qwen3-30B-A3B", MaxModelLen: of(int64(40960))}}, Profile: of(true), Engines: of(int64(2)), Running: of(int64(31)),
		Waiting: of(int64(4)), KVUsage: of(0.613), RateNS: 10e9, RecentNS: 60e9, Prompt: meter.Counter{Total: of(int64(5_311_204)), PerS: of(2034.5)},
		Generated: meter.Counter{Total: of(int64(912_344)), PerS: of(1187.2)}, Steps: meter.Counter{Total: of(int64(40_211)), PerS: of(84.1)},
		Finished: meter.Counter{Total: of(int64(3_120)), PerS: of(4.2)}, Lookups: meter.Counter{Total: of(int64(100)), PerS: of(10.0)},
		Hits: meter.Counter{Total: of(int64(20)), PerS: of(6.0)}}
	r.Latencies = []meter.Latency{
		{Name: "first token", Recent: meter.Percentiles{Count: of(int64(250)), P50: bucket(80, 100), P90: bucket(250, 500), P99: &meter.Bucket{AboveNS: 640e9}}},
		{Name: "between tokens", Whole: meter.Percentiles{Count: of(int64(3)), P50: bucket(0, 10), P99: bucket(10, 25)}},
	}
	for i := range 60 {
		p := meter.Point{AtNS: meterNow.Add(time.Duration(i-59) * time.Second).UnixNano()}
		if i < 20 || i > 26 {
			p.Running, p.GeneratedPerS, p.KVUsage = of(float64(i%9)), of(float64(900+i*5)), of(float64(i)/100)
		}
		r.History = append(r.History, p)
	}
	return r
}

func meterScreen(t testing.TB, w, h int, opt Options, change func(*meterSource)) *screen {
	src := &meterSource{reading: readingOf()}
	if change != nil {
		change(src)
	}
	s := newScreen(t, src, meterNow, opt)
	s.size(w, h)
	s.tick(0)
	return s
}

// TestMetricsGoldens holds the page of a server without records at four sizes.
func TestMetricsGoldens(t *testing.T) {
	silent := func(s *meterSource) {
		s.reading = &meter.Reading{Addr: s.reading.Addr, AtNS: meterNow.Add(-90 * time.Second).UnixNano(), State: meter.Silent,
			Problem: "no answer to GET /health: connection refused", Latencies: s.reading.Latencies[:0], History: s.reading.History}
	}
	scenes := map[string]struct {
		keys   string
		change func(*meterSource)
	}{
		"busy":    {"", nil},
		"latency": {"tab", nil},
		"server":  {"G", nil},
		"silent":  {"", silent},
		"first":   {"", func(s *meterSource) { s.reading = &meter.Reading{Addr: s.reading.Addr, State: meter.Asking} }},
		"explain": {"e", nil},
	}
	for name, sc := range scenes {
		for _, size := range logSizes {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				s := meterScreen(t, size[0], size[1], Options{}, sc.change)
				s.content()
				s.keys(strings.Fields(sc.keys)...)
				golden.RequireEqual(t, s.plain())
			})
		}
	}
	t.Run("styled", func(t *testing.T) {
		golden.RequireEqual(t, meterScreen(t, 120, 40, Options{}, nil).content())
	})
	t.Run("ascii", func(t *testing.T) {
		golden.RequireEqual(t, meterScreen(t, 80, 24, Options{Theme: theme.Prefs{Glyphs: "ascii"}}, nil).plain())
	})
}

// TestHostileServers: what a server calls itself cannot move the cursor, and an error of the source is told.
func TestHostileServers(t *testing.T) {
	s := meterScreen(t, 120, 40, Options{}, func(src *meterSource) {
		src.reading.Models[0].ID = "x\x1b[2J\x07\u202e"
		src.reading.Version = of("\x1b]0;y\x07")
		src.reading.Notes = []string{"\x1b[31mred"}
	})
	if text := s.plain(); strings.ContainsAny(text, "\x1b\x07\u202e") {
		t.Errorf("%q", text)
	}
	s = meterScreen(t, 120, 40, Options{}, func(src *meterSource) { src.err = errors.New("cannot be asked") })
	if s.m.feed.err == nil {
		t.Error("an error was lost")
	}
}
