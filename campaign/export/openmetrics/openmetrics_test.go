package openmetrics

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/testdata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// exposition is what a strict reader makes of a text: samples by family, in order.
type exposition struct {
	kinds   map[string]string
	samples map[string]float64 // by name and labels
}

var (
	sampleForm = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	labelForm  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)`)
)

// parse reads OpenMetrics text as its specification has it (sections 4 and 5), as far as this package's families go, and refuses anything else.
func parse(text string) (*exposition, error) {
	body, ok := strings.CutSuffix(text, "# EOF\n")
	if !ok {
		return nil, fmt.Errorf("it does not end in # EOF")
	}
	x := &exposition{kinds: map[string]string{}, samples: map[string]float64{}}
	family, kind := "", ""
	for i, line := range strings.Split(strings.TrimSuffix(body, "\n"), "\n") {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("line %d, %s: %s", i+1, line, fmt.Sprintf(format, args...))
		}
		if words := strings.SplitN(line, " ", 4); words[0] == "#" {
			switch {
			case len(words) < 4:
				return nil, fail("a line about a family has four parts")
			case words[1] == "TYPE":
				family, kind = words[2], words[3]
				if _, seen := x.kinds[family]; seen || !slices.Contains([]string{"gauge", "counter", "histogram"}, kind) {
					return nil, fail("a type once, of those we write")
				}
				x.kinds[family] = kind
			case words[2] != family:
				return nil, fail("it is within family %s", family)
			case words[1] == "UNIT" && !strings.HasSuffix(family, "_"+words[3]):
				return nil, fail("the name ends in its unit")
			case words[1] != "UNIT" && words[1] != "HELP":
				return nil, fail("neither TYPE, UNIT nor HELP")
			}
			continue
		}
		m := sampleForm.FindStringSubmatch(line)
		if m == nil {
			return nil, fail("no sample")
		}
		suffixes := map[string][]string{"gauge": {""}, "counter": {"_total"}, "histogram": {"_bucket", "_count", "_sum"}}[kind]
		suffix, ok := strings.CutPrefix(m[1], family)
		if !ok || !slices.Contains(suffixes, suffix) {
			return nil, fail("a sample of a %s %s", kind, family)
		}
		labels := m[2]
		for labels != "" {
			l := labelForm.FindStringSubmatch(labels)
			if l == nil {
				return nil, fail("labels at %s", labels)
			}
			labels = labels[len(l[0]):]
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil || kind != "gauge" && (v < 0 || math.IsNaN(v)) {
			return nil, fail("a number")
		}
		key := m[1] + "{" + m[2] + "}"
		if _, twice := x.samples[key]; twice {
			return nil, fail("a sample once")
		}
		x.samples[key] = v
	}
	return x, nil
}

// sum adds the samples of a name, over all labels that hold every given text.
func (x *exposition) sum(name string, with ...string) (sum float64) {
	for key, v := range x.samples {
		if strings.HasPrefix(key, name+"{") && !slices.ContainsFunc(with, func(w string) bool { return !strings.Contains(key, w) }) {
			sum += v
		}
	}
	return sum
}

func (s *State) text(t testing.TB) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func parsed(t testing.TB, s *State) *exposition {
	t.Helper()
	x, err := parse(s.text(t))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func of(t testing.TB, name string) (*State, *store.Store) {
	t.Helper()
	data, err := testdata.Recording(name)
	if err != nil {
		t.Fatal(err)
	}
	s, st := New(""), store.New(store.Options{})
	r := record.NewReader(bytes.NewReader(data), name)
	for r.Scan() {
		s.Line(0, r.Line())
		st.Line(0, r.Line())
	}
	return s, st
}

func TestMetricsAreWhatTheStoreCounts(t *testing.T) {
	for _, name := range testdata.Recordings() {
		s, st := of(t, name)
		x := parsed(t, s)
		run := st.Snapshot().Frame(store.Query{Columns: 1}).Run
		c := &run.Counts
		for metric, want := range map[string]float64{
			"opprof_steps_total": float64(c.Steps), "vllm:num_preemptions_total": float64(c.Preemptions), "vllm:prefix_cache_queries_total": float64(c.Local.Queries),
			"vllm:prefix_cache_hits_total": float64(c.Local.Hits), "vllm:iteration_tokens_total_count": float64(c.Steps),
			"vllm:iteration_tokens_total_sum": float64(c.PrefillTokens + c.DecodeTokens), "opprof_step_period_seconds_count": float64(run.Period.N),
			"opprof_step_period_seconds_sum": float64(c.PeriodSumNS) / 1e9, "opprof_graph_padding_tokens_total": float64(c.GraphPadding), "opprof_gaps_total": float64(c.Gaps),
			"opprof_stalls_total": float64(c.Stalls), "opprof_graph_steps_total": float64(c.Steps), "opprof_dropped_records_total": float64(c.Dropped),
			"opprof_newest_step_timestamp_seconds": float64(c.LastNS) / 1e9,
		} {
			if got := x.sum(metric); math.Abs(got-want) > 1e-9*math.Abs(want) {
				t.Errorf("%s: %s is %v, want %v", name, metric, got, want)
			}
		}
		if got, want := x.sum("opprof_graph_steps_total", `mode="FULL"`), float64(c.Graph[record.GraphFull]); got != want {
			t.Errorf("%s: %v steps in mode FULL, want %v", name, got, want)
		}
		if x.sum("opprof_step_period_seconds_bucket", `le="+Inf"`) != float64(run.Period.N) {
			t.Errorf("%s: the last bucket does not hold all", name)
		}
	}
}

// A scrape at any moment is valid, and no counter or bucket ever falls, whatever the lines say.
func TestCountersOnlyGrow(t *testing.T) {
	data, err := testdata.Recording("h200-tp2-eager")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	rapid.Check(t, func(t *rapid.T) {
		s, before := New("a model"), &exposition{}
		d := record.NewDecoder("x")
		for range rapid.IntRange(1, 6).Draw(t, "scrapes") {
			for range rapid.IntRange(0, 20).Draw(t, "lines") {
				line := rapid.SampledFrom(lines).Draw(t, "line")
				id := rapid.SampledFrom([]string{"dp0-pid1", "dp0-pid2", "dp1-pid1", `q"\u0000\\uote`}).Draw(t, "engine")
				line = regexp.MustCompile(`"engine_id":"[^"]*"`).ReplaceAll(line, []byte(`"engine_id":"`+id+`"`))
				line = line[:len(line)-rapid.SampledFrom([]int{0, 0, 0, 3}).Draw(t, "cut")]
				var l record.Line
				d.Decode(line, &l)
				stream := rapid.IntRange(0, 2).Draw(t, "stream")
				if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
					s.Restart(stream, "cut")
				}
				s.Line(stream, &l)
			}
			var b bytes.Buffer
			if err := s.Write(&b); err != nil {
				t.Fatal(err)
			}
			x, err := parse(b.String())
			if err != nil {
				t.Fatal(err)
			}
			for key, v := range before.samples {
				name, _, _ := strings.Cut(key, "{")
				grows := strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_bucket") || strings.HasSuffix(name, "_count") || strings.HasSuffix(name, "_sum")
				if now, ok := x.samples[key]; grows && (!ok && !strings.Contains(key, "model_name=\"a model\"") || ok && now < v) {
					t.Fatalf("%s fell from %v to %v", key, v, now)
				}
			}
			before = x
		}
	})
}

func TestNothingIsKnownAtFirst(t *testing.T) {
	x := parsed(t, New("m"))
	if len(x.samples) != 1 {
		t.Errorf("before any line there are %v", x.samples)
	}
	if x.kinds["vllm:num_requests_running"] != "gauge" || x.kinds["vllm:iteration_tokens_total"] != "histogram" {
		t.Errorf("the families are %v", x.kinds)
	}
}

func TestUnknownIsNoSample(t *testing.T) {
	s := New("m")
	s.Line(0, &record.Line{Kind: record.KindStep, Step: record.Step{EngineID: "dp0-pid1", StepIndex: 1, SubmitMonoNS: 1, CompleteMonoNS: 2}})
	x := parsed(t, s)
	for key := range x.samples {
		if strings.HasPrefix(key, "vllm:prefix_cache") || strings.HasPrefix(key, "vllm:external") || strings.HasPrefix(key, "opprof_recompute") {
			t.Errorf("%s is not known", key)
		}
	}
	if got := x.sum("opprof_graph_steps_total", `mode="unknown"`); got != 1 {
		t.Errorf("%v steps of unknown mode", got)
	}
}

func TestSecondsAreExact(t *testing.T) {
	for ns, want := range map[int64]string{0: "0.000000000", 1: "0.000000001", 1_500_000_000: "1.500000000", -2_000_000_001: "-2.000000001", math.MinInt64: "-9223372036.854775808",
		1796003501016738622: "1796003501.016738622"} {
		if got := seconds(ns); got != want {
			t.Errorf("%d ns are %s, want %s", ns, got, want)
		}
	}
}

func TestServe(t *testing.T) {
	s, _ := of(t, "h200-tp2-eager")
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, at, s.Write) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for path, status := range map[string]int{"/metrics": http.StatusOK, "/": http.StatusNotFound, "/metrics/x": http.StatusNotFound} {
		r, err := client.Get("http://" + at.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil || r.StatusCode != status {
			t.Errorf("%s: %s, %v", path, r.Status, err)
		}
		if status == http.StatusOK {
			if r.Header.Get("Content-Type") != ContentType || string(body) != s.text(t) {
				t.Errorf("it answers %s, %d bytes", r.Header.Get("Content-Type"), len(body))
			}
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWriteFile(t *testing.T) {
	s, _ := of(t, "h200-tp2-eager")
	path := filepath.Join(t.TempDir(), "opprof.prom")
	for range 2 {
		if err := s.WriteFile(path); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != s.text(t) {
		t.Errorf("the file holds %d bytes, %v", len(text), err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != textfileMode {
		t.Errorf("the collector cannot read it: %v, %v", st.Mode(), err)
	}
}

// pythonEnv names an interpreter with the packages that other programs' formats are checked with.
const pythonEnv = "OPPROF_ANALYTICS_PYTHON"

func TestPrometheusReadsIt(t *testing.T) {
	python := os.Getenv(pythonEnv)
	if python == "" {
		t.Skip(pythonEnv + " names no interpreter with prometheus_client")
	}
	s, _ := of(t, "h200-tp1")
	script := `import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as strict
from prometheus_client.parser import text_string_to_metric_families as lenient
text = sys.stdin.read()
print(sum(len(f.samples) for f in strict(text)), sum(len(f.samples) for f in lenient(text)))`
	c := exec.Command(python, "-c", script)
	c.Stdin = strings.NewReader(s.text(t))
	out, err := c.CombinedOutput()
	n := len(parsed(t, s).samples)
	if want := fmt.Sprintf("%d %d\n", n, n); err != nil || string(out) != want {
		t.Errorf("its parsers say %s, %v; want %s", out, err, want)
	}
}
