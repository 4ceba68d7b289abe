package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"opprof/engine/record"
)

// lookups are the prefix cache's counters of one step.
type lookups struct {
	Queries          int64 `json:"queries"`
	Hits             int64 `json:"hits"`
	PreemptedQueries int64 `json:"preempted_queries"`
	PreemptedHits    int64 `json:"preempted_hits"`
}

// line is any line of a Layer-1 file, decoded by encoding/json: a second reader, independent of engine/record.
type line struct {
	Type string `json:"type"`

	StepIndex       int64 `json:"step_index"`
	Requests        int64 `json:"scheduled_requests"`
	PrefillTokens   int64 `json:"prefill_tokens"`
	DecodeTokens    int64 `json:"decode_tokens"`
	RecomputeTokens int64 `json:"recompute_tokens"`
	Resumed         int64 `json:"resumed_requests"`
	Preemptions     int64 `json:"preemptions"`
	Chunks          struct {
		First   int64 `json:"first"`
		Middle  int64 `json:"middle"`
		Final   int64 `json:"final"`
		Unsplit int64 `json:"unsplit"`
	} `json:"chunked_prefill"`
	Prefix struct {
		Local lookups `json:"local"`
	} `json:"prefix"`

	VLLMVersion string `json:"vllm_version"`
	PatchHash   string `json:"patch_hash"`
	Runner      string `json:"runner"`
	Ranks       int64  `json:"tensor_parallel_size"`
	BlockSize   int64  `json:"block_size"`

	Action    string `json:"action"`
	AfterStep int64  `json:"after_step"`
	OK        bool   `json:"ok"`

	Encoded    int64 `json:"encoded"`
	Written    int64 `json:"written"`
	Dropped    int64 `json:"dropped"`
	Foreground struct {
		Steps int64 `json:"n"`
		P50NS int64 `json:"p50"`
		P99NS int64 `json:"p99"`
	} `json:"foreground_ns"`
}

// stream is a whole Layer-1 file.
type stream struct {
	path           string
	lines          int64 // before the footer
	header, footer *line
	steps, markers []line
}

// streamName is the form of a file's name: engine, process and start.
var streamName = regexp.MustCompile(`^opprof-v1-dp0-pid[0-9]+-[0-9]{19}\.jsonl$`)

// readStream reads the one file that an engine leaves.
func readStream(t *testing.T, dir string) stream {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || !streamName.MatchString(entries[0].Name()) {
		t.Fatalf("the recorder left %v, want one file for one engine", entries)
	}
	s := stream{path: filepath.Join(dir, entries[0].Name())}
	if at, err := entries[0].Info(); err != nil || at.Mode().Perm() != 0o600 {
		t.Errorf("mode of %s: %v, %v; want 0600", s.path, at.Mode(), err)
	}
	file, err := os.Open(s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	scan := bufio.NewScanner(file)
	for scan.Scan() {
		s.add(t, scan.Bytes())
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	if s.header == nil || s.footer == nil || len(s.steps) == 0 {
		t.Fatalf("%s: header %v, footer %v, %d steps", s.path, s.header != nil, s.footer != nil, len(s.steps))
	}
	return s
}

func (s *stream) add(t *testing.T, text []byte) {
	t.Helper()
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		t.Fatalf("%s: %v: %s", s.path, err, text)
	}
	if s.footer != nil {
		t.Errorf("%s: a line after the footer: %s", s.path, text)
	}
	switch l.Type {
	case "header":
		s.header = &l
	case "footer":
		s.footer = &l
		return
	case "profile":
		s.markers = append(s.markers, l)
	case "":
		s.steps = append(s.steps, l)
	default:
		t.Errorf("%s: a line of type %s", s.path, l.Type)
	}
	s.lines++
}

// sums adds up the steps.
func (s *stream) sums() (t line) {
	for _, step := range s.steps {
		t.PrefillTokens += step.PrefillTokens
		t.DecodeTokens += step.DecodeTokens
		t.RecomputeTokens += step.RecomputeTokens
		t.Resumed += step.Resumed
		t.Preemptions += step.Preemptions
		t.Chunks.First += step.Chunks.First
		t.Chunks.Middle += step.Chunks.Middle
		t.Chunks.Final += step.Chunks.Final
		t.Chunks.Unsplit += step.Chunks.Unsplit
		t.Prefix.Local.Queries += step.Prefix.Local.Queries
		t.Prefix.Local.Hits += step.Prefix.Local.Hits
		t.Prefix.Local.PreemptedQueries += step.Prefix.Local.PreemptedQueries
		t.Prefix.Local.PreemptedHits += step.Prefix.Local.PreemptedHits
	}
	return t
}

// checkStream requires every invariant that opprof check knows.
func checkStream(t *testing.T, s stream) {
	t.Helper()
	file, err := os.Open(s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader, checker := record.NewReader(file, s.path), record.NewChecker()
	for reader.Scan() {
		checker.Add(reader.Line())
	}
	if err := reader.Err(); err != nil {
		t.Fatal(err)
	}
	r := checker.Result()
	if !r.OK() || r.BadLines != 0 || r.MissingFooter || r.TornTail || r.Steps != int64(len(s.steps)) {
		t.Errorf("check: %+v; the file has %d steps", r, len(s.steps))
	}
}
