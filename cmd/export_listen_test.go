package cmd

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"opprof/testdata"
)

// A served run is followed while it grows: counters go up with its records, and an interrupt ends the command in order.
func TestMetricsOfALiveRun(t *testing.T) {
	data, err := testdata.Recording("h200-tp2-eager")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	stream := filepath.Join(t.TempDir(), "run", "layer1", "opprof-v1-dp0-pid1-1.jsonl")
	writeFile(t, stream, string(bytes.Join(lines[:200], nil)))

	env, _, stderr := memoryEnv(nil, "export", "openmetrics", filepath.Dir(filepath.Dir(stream)), "--listen", "127.0.0.1:0")
	said, out := io.Pipe()
	env.Stdout = out
	ctx, interrupt := context.WithCancel(context.Background())
	env.Notify = func(context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} }
	ended := make(chan ExitCode, 1)
	go func() { ended <- Main(env) }()
	line, err := bufio.NewReader(said).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "serving ")
	if err != nil || !ok {
		t.Fatalf("it says %q, %v, %s", line, err, stderr)
	}
	want := int64(bytes.Count(bytes.Join(lines[:200], nil), []byte(`"step_index"`)))
	if got := stepsAt(t, url); got != want {
		t.Errorf("%d steps at the start, want %d", got, want)
	}
	f, err := os.OpenFile(stream, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(bytes.Join(lines[200:], nil)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	all := int64(bytes.Count(data, []byte(`"step_index"`)))
	for before := want; before < all; { // as long as the test may take
		got := stepsAt(t, url)
		if got < before || got > all {
			t.Fatalf("the counter went from %d to %d of %d", before, got, all)
		}
		before = got
	}
	interrupt()
	if code := <-ended; code != ExitOK {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

var stepsForm = regexp.MustCompile(`(?m)^opprof_steps_total\{.*\} (\d+)$`)

// stepsAt scrapes once.
func stepsAt(t *testing.T, url string) int64 {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	m := stepsForm.FindSubmatch(text)
	if m == nil {
		t.Fatalf("no steps in %s", text)
	}
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
