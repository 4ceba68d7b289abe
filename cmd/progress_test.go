package cmd

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	for _, c := range []struct {
		name     string
		terminal bool
		after    time.Duration
		done     int64
		want     string
	}{
		{"a terminal soon", true, 50 * time.Millisecond, 50, ""},
		{"a terminal", true, time.Second, 50_000_000, "\rrun\\x1b [############............]  50 %  50.0 MB of 100 MB, 50.0 MB/s\x1b[K\r\x1b[K"},
		{"more than there was", true, time.Second, 200_000_000, "\rrun\\x1b [########################] 100 %  200 MB of 100 MB, 200 MB/s\x1b[K\r\x1b[K"},
		{"elsewhere soon", false, time.Second, 50, ""},
		{"elsewhere", false, 10 * time.Second, 50_000_000, "run\\x1b: 50 %, 50.0 MB of 100 MB, 5.00 MB/s\n"},
	} {
		now := time.Unix(0, 0)
		var b bytes.Buffer
		p := &progressLine{w: &b, terminal: c.terminal, now: func() time.Time { return now }}
		p.begin()
		now = now.Add(c.after)
		p.tell("run\x1b", c.done, 100_000_000)
		p.tell("run\x1b", c.done, 100_000_000) // at the same moment: nothing
		p.clear()
		if b.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, b.String(), c.want)
		}
	}
	var b bytes.Buffer
	p := &progressLine{w: &b, terminal: true, now: func() time.Time { return time.Unix(9, 0) }}
	p.tell(strings.Repeat("long", 20), 1, 0)
	if b.Len() != 0 {
		t.Errorf("of nothing it tells %q", b.String())
	}
	p.tell(strings.Repeat("long", 20), 1, 2)
	if !strings.Contains(b.String(), "longlonglonglonglongl... [") {
		t.Errorf("a long name is %q", b.String())
	}
}
