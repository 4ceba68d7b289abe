package session

import (
	"errors"
	"strings"
	"testing"
	"time"

	"opprof/engine/tail"
)

func TestDiskWatch(t *testing.T) {
	const mb = 1_000_000
	steady := func(perLook int64) func(i int64) int64 { return func(i int64) int64 { return 100*mb + i*perLook } }
	for _, c := range []struct {
		name  string
		looks int64 // ten seconds apart
		bytes func(i int64) int64
		free  int64
		err   error
		says  string
	}{
		{"44 GB a day, half a day left", 60, steady(5 * mb), 22_000 * mb, nil, "full in 12h13m0s at 500 kB/s, 22.0 GB are free"},
		{"44 GB a day, a week left", 60, steady(5 * mb), 308_000 * mb, nil, ""},
		{"too early to tell", 6, steady(5 * mb), 22_000 * mb, nil, ""},
		{"a minute tells", 7, steady(5 * mb), 22_000 * mb, nil, "full in"},
		{"nothing is written", 60, steady(0), 1, nil, ""},
		{"already full", 60, steady(mb), 0, nil, "full in 0s"},
		{"cut in between", 60, func(i int64) int64 { return (i % 58) * 5 * mb }, 22_000 * mb, nil, ""},
		{"the disk does not tell", 60, steady(5 * mb), 0, errors.New("stale"), ""},
	} {
		now := time.Unix(1_900_000_000, 0)
		d := newDiskWatch(func() time.Time { return now })
		d.free = func(string) (int64, error) { return c.free, c.err }
		var got string
		for i := range c.looks {
			got = d.problem([]tail.Status{{Path: "/run/layer1/a.jsonl", Size: c.bytes(i)}})
			now = now.Add(diskEvery)
		}
		if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q", c.name, got, c.says)
		}
	}
	d := newDiskWatch(time.Now)
	if got := d.problem(nil); got != "" {
		t.Errorf("without streams: %q", got)
	}
	if free, err := freeBytes(t.TempDir()); err != nil || free < 0 {
		t.Errorf("%d, %v", free, err)
	}
}
