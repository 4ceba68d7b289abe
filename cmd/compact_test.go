package cmd

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestNewestStreams(t *testing.T) {
	for _, c := range []struct{ streams, held string }{
		{"", ""},
		{"l/opprof-v1-dp0-pid9-100.jsonl", "l/opprof-v1-dp0-pid9-100.jsonl"},
		{"l/opprof-v1-dp0-pid9-100.jsonl l/opprof-v1-dp0-pid3-99.jsonl", "l/opprof-v1-dp0-pid9-100.jsonl"},
		{"l/opprof-v1-dp0-pid9-100.jsonl l/opprof-v1-dp1-pid3-99.jsonl", "l/opprof-v1-dp0-pid9-100.jsonl l/opprof-v1-dp1-pid3-99.jsonl"},
		{"l/opprof-v1-dp0-pid1-5.jsonl.zst l/opprof-v1-dp0-pid1-6.jsonl.1 l/opprof-v1-dp0-pid1-6.jsonl", "l/opprof-v1-dp0-pid1-6.jsonl"},
		{"l/other.jsonl l/opprof-v1-dp0-pid1-6.jsonl", "l/opprof-v1-dp0-pid1-6.jsonl l/other.jsonl"},
		{"l/a l/b.jsonl.1.gz", "l/a l/b.jsonl"},
	} {
		got := slices.Sorted(maps.Keys(newestStreams(strings.Fields(c.streams))))
		if strings.Join(got, " ") != c.held {
			t.Errorf("%s: held are %q, want %q", c.streams, got, c.held)
		}
	}
}
