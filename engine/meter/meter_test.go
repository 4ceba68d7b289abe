package meter

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"opprof/engine/vllm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a server whose answers a test sets, and a meter that asks it whenever the test says so.
type bench struct {
	t       *testing.T
	meter   *Meter
	socket  string
	server  *http.Server
	served  sync.WaitGroup
	mu      sync.Mutex
	metrics string
	version string
	now     time.Time
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, socket: filepath.Join(t.TempDir(), "s"), version: `{"version":"0.24.0+cpu"}`, now: time.Unix(1_000_000, 0)}
	address := vllm.Address{Socket: b.socket}
	client := vllm.NewClient(address)
	t.Cleanup(func() { client.Close(); b.close() })
	b.meter = New(address, client, Options{Now: func() time.Time { return b.now }, Limit: 10 * time.Second})
	b.open()
	return b
}

func (b *bench) open() {
	b.t.Helper()
	l, err := net.Listen("unix", b.socket)
	if err != nil {
		b.t.Fatal(err)
	}
	text := func(of *string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if *of == "" {
				http.NotFound(w, nil)
				return
			}
			fmt.Fprint(w, *of)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /version", text(&b.version))
	mux.HandleFunc("GET /metrics", text(&b.metrics))
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) })
	mux.HandleFunc("POST /start_profile", func(http.ResponseWriter, *http.Request) { b.t.Error("the profiler was started") })
	b.server = &http.Server{Handler: mux}
	b.served.Go(func() { _ = b.server.Serve(l) })
}

func (b *bench) close() {
	_ = b.server.Close()
	b.served.Wait()
}

// ask sets what /metrics says, lets seconds pass, and asks.
func (b *bench) ask(seconds int, metrics string) *Reading {
	b.t.Helper()
	b.mu.Lock()
	b.metrics, b.now = metrics, b.now.Add(time.Duration(seconds)*time.Second)
	b.mu.Unlock()
	b.meter.ask(context.WithoutCancel(b.t.Context()))
	return b.meter.Reading()
}

// said are metrics of two engines: generated tokens, requests, and first tokens that took 0.2 s.
func said(tokens, running int) string {
	return fmt.Sprintf(`vllm:generation_tokens_total{engine="0"} %d
vllm:generation_tokens_total{engine="1"} 0
vllm:num_requests_running{engine="0"} %d
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 0.5
vllm:time_to_first_token_seconds_bucket{le="0.1"} 0
vllm:time_to_first_token_seconds_bucket{le="0.25"} %d
vllm:time_to_first_token_seconds_bucket{le="+Inf"} %d
`, tokens, running, tokens, tokens)
}

func TestFiguresAndRates(t *testing.T) {
	b := newBench(t)
	if r := b.meter.Reading(); r.State != Asking || r.AtNS != 0 || r.Running != nil {
		t.Errorf("before an answer: %+v", r)
	}
	b.ask(0, said(100, 3))
	r := b.ask(4, said(300, 5))
	if r.State != Answers || *r.Running != 5 || r.Waiting != nil || *r.KVUsage != 0.5 || *r.Engines != 2 || *r.Generated.Total != 300 || *r.Generated.PerS != 50 {
		t.Errorf("%+v", r)
	}
	if r.RateNS != 4e9 || r.Prompt.Total != nil || r.Prompt.PerS != nil {
		t.Errorf("rates over %d ns; a counter that is not there: %+v", r.RateNS, r.Prompt)
	}
	first := r.Latencies[0]
	if *first.Recent.Count != 200 || *first.Whole.Count != 300 || first.Recent.P99.AboveNS != 100_000_000 || *first.Recent.P99.ToNS != 250_000_000 {
		t.Errorf("first token: %+v", first)
	}
	if *r.Version != "0.24.0+cpu" || r.Models != nil || r.Profile == nil || !*r.Profile || !strings.Contains(strings.Join(r.Notes, " "), "VLLM_API_KEY") {
		t.Errorf("about: %+v", r)
	}
	if len(r.History) != 2 || r.History[0].GeneratedPerS != nil || *r.History[1].GeneratedPerS != 50 {
		t.Errorf("history %+v", r.History)
	}
}

// TestGoesAndComesBack: nothing old is shown as new, and a counter that fell gives no rate.
func TestGoesAndComesBack(t *testing.T) {
	b := newBench(t)
	b.ask(0, said(100, 3))
	at := b.ask(1, said(200, 3)).AtNS
	b.close()
	r := b.ask(1, "")
	if r.State != Silent || r.Problem == "" || r.Running != nil || r.Generated.Total != nil || r.AtNS != at || r.Version != nil || r.Healthy != nil {
		t.Errorf("gone: %+v", r)
	}
	b.open()
	r = b.ask(1, said(5, 1))
	if r.State != Answers || *r.Running != 1 || r.Generated.PerS != nil || r.Version == nil {
		t.Errorf("back: %+v", r)
	}
	if r = b.ask(2, said(25, 1)); *r.Generated.PerS != 10 || *r.Latencies[0].Recent.Count != 20 {
		t.Errorf("then: %+v", r)
	}
	b.ask(1, said(5, 1)) // restarted between two questions
	if r = b.ask(1, said(15, 1)); *r.Generated.PerS != 10 {
		t.Errorf("after a restart that was not seen: %+v", *r.Generated.PerS)
	}
}

func TestWhatIsNoServer(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct{ version, metrics, says string }{
		{"", "<html>\n", "no vLLM server"},
		{"", "", "404"},
		{`{"version":"0.24.0"}`, "python_info 1\n", "--disable-log-stats"},
	} {
		b.version, b.meter.about = c.version, about{}
		if r := b.ask(1, c.metrics); r.State != Other || !strings.Contains(r.Problem, c.says) || r.Running != nil {
			t.Errorf("%+v: %s, %q", c, r.State, r.Problem)
		}
	}
	b.version, b.meter.about = `{"version":"0.9.1"}`, about{}
	if r := b.ask(1, said(1, 1)); !strings.Contains(strings.Join(r.Notes, " "), "OpProf knows 0.24.0") {
		t.Errorf("another version: %q", r.Notes)
	}
}

// TestHostileMetrics: values that no count can be are unknown, and bad lines are counted.
func TestHostileMetrics(t *testing.T) {
	b := newBench(t)
	r := b.ask(0, "vllm:generation_tokens_total 1e300\nvllm:prompt_tokens_total -4\nvllm:num_requests_running NaN\nvllm:num_requests_waiting +Inf\n"+
		"vllm:kv_cache_usage_perc 7\n\x1b]0;x\x07 1 2\nvllm:x{le=\"\x1b[2J\n")
	if r.State != Answers || r.Generated.Total != nil || r.Prompt.Total != nil || r.Running != nil || r.Waiting != nil || r.KVUsage != nil || r.BadLines == 0 {
		t.Errorf("%+v", r)
	}
}

func TestRunAndWait(t *testing.T) {
	b := newBench(t)
	b.metrics = said(1, 1)
	b.meter.options.Every = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.meter.Run(ctx) })
	if err := b.meter.Wait(t.Context(), 3); err != nil {
		t.Error(err)
	}
	cancel()
	running.Wait()
	if err := b.meter.Wait(ctx, 1<<40); err == nil {
		t.Error("waited for ever")
	}
}

// TestTheClockIsSetBack: what was taken at a later time gives no rate and no history, and is not kept until that time comes again.
func TestTheClockIsSetBack(t *testing.T) {
	b := newBench(t)
	b.ask(0, said(100, 3))
	b.ask(1, said(200, 3))
	r := b.ask(-3600, said(300, 3))
	if len(r.History) != 1 || r.Generated.PerS != nil || *r.Generated.Total != 300 || r.RateNS != 0 {
		t.Errorf("%+v", r)
	}
	if r = b.ask(2, said(400, 3)); len(r.History) != 2 || *r.Generated.PerS != 50 {
		t.Errorf("afterwards: %+v", r)
	}
}
