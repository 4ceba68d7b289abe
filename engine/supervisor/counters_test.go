package supervisor

import (
	"os"
	"path/filepath"
	"testing"

	"opprof/engine/control"
	"opprof/engine/rundir"
	"opprof/engine/supervisor/fakeserver"
	"opprof/engine/vllm"
)

// TestCountersAreSavedAtTheStop: what the server counted itself lies beside its records, as of the moment before it is told to end.
func TestCountersAreSavedAtTheStop(t *testing.T) {
	r := launch(t, newConfig(t, fakeserver.Options{}, 1))
	s := r.until("busy", func(s control.Status) bool { return s.State == control.Busy })
	has(t, r.end(), "stopped: ordered by a client")
	f, err := os.Open(filepath.Join(r.config.Dir, rundir.MetricsName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := vllm.ReadMetrics(f)
	if err != nil {
		t.Fatal(err)
	}
	if tokens, ok := m.Sum("vllm:generation_tokens_total"); !ok || int64(tokens) < s.Engines[0].StepIndex {
		t.Errorf("%v tokens (known: %t) after step %d", tokens, ok, s.Engines[0].StepIndex)
	}
}

// TestCountersKeepNoStopWaiting: a server that does not answer is stopped all the same, and the journal says what is not known.
func TestCountersKeepNoStopWaiting(t *testing.T) {
	r := launch(t, newConfig(t, fakeserver.Options{Fault: fakeserver.HungMetrics}, 1))
	r.state(control.Ready)
	has(t, r.end(), "stopped: ordered by a client")
	e := r.find(eventCounters, nil)
	if e == nil {
		t.Fatal("the journal does not say that nothing was saved")
	}
	has(t, e["reason"].(string), "no answer to GET /metrics")
	if _, err := os.Stat(filepath.Join(r.config.Dir, rundir.MetricsName)); !os.IsNotExist(err) {
		t.Errorf("%s: %v", rundir.MetricsName, err)
	}
}
