package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opprof/engine/rundir"
	"opprof/engine/vllm"
	"opprof/testdata"
)

// TestDemoLog: whatever the pace and the zone, the demo's log starts a server when its records start, goes on in order, and never runs
// ahead of the clock.
func TestDemoLog(t *testing.T) {
	for _, recording := range testdata.Recordings() {
		for _, speed := range []float64{1, 10} {
			now := time.Unix(1_800_000_000, 0).In(time.FixedZone("east", 5*3600+45*60))
			d, err := newDemo(DemoOptions{Recording: recording, Speed: speed, Now: func() time.Time { return now }})
			if err != nil {
				t.Fatal(err)
			}
			stream, err := os.ReadFile(d.file.Name())
			if err != nil {
				t.Fatal(err)
			}
			startNS, _ := number(stream, "start_wall_ns")
			before := strings.Count(readLog(t, d), "\n")
			now = now.Add(2 * time.Minute)
			if err := d.log.writeDue(now.UnixNano()); err != nil {
				t.Fatal(err)
			}
			text := readLog(t, d)
			if strings.Count(text, "\n") <= before {
				t.Errorf("%s at %v: nothing was logged in two minutes", recording, speed)
			}
			up := stampOf(t, text, "init engine")
			c := vllm.NewCalendar(up, startNS)
			if away := time.Duration(c.WallNS(up) - startNS); away.Abs() > 3*time.Second {
				t.Errorf("%s at %v: the engine is up %v after its recorder starts", recording, speed, away)
			}
			checkDemoLog(t, recording, text, c, now)
			d.close()
		}
	}
}

func readLog(t *testing.T, d *demo) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(d.run, rundir.ServerLogName))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// stampOf is the time of the first line with a text.
func stampOf(t *testing.T, text, part string) vllm.LogTime {
	t.Helper()
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return vllm.ParseLogLine(line).Time
		}
	}
	t.Fatalf("no line holds %q", part)
	return vllm.LogTime{}
}

func checkDemoLog(t *testing.T, recording, text string, c vllm.Calendar, now time.Time) {
	t.Helper()
	last := int64(0)
	for line := range strings.Lines(text) {
		at := c.WallNS(vllm.ParseLogLine(line).Time)
		if at == 0 {
			continue
		}
		if at < last-int64(5*time.Second) || at > now.UnixNano() { // processes may write some seconds late
			t.Fatalf("%s: %q after %s at %s", recording, line, time.Unix(0, last).UTC(), now.UTC())
		}
		last = at
	}
}
