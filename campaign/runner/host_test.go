package runner

import (
	"context"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"opprof/engine/serverconf"
	"opprof/engine/supervisor/process"
)

// driver answers as nvidia-smi does.
func driver(gpus, apps [][]string, err error) func(context.Context, string) ([][]string, error) {
	return func(_ context.Context, query string) ([][]string, error) {
		if strings.HasPrefix(query, "--query-compute-apps") {
			return apps, err
		}
		return gpus, err
	}
}

func twoDevices() [][]string {
	return [][]string{
		{"0", "GPU-a", "NVIDIA H20", "580.1", "1410", "1980", "2619", "41", "118.20", "500.00", "4"},
		{"1", "GPU-b", "NVIDIA H20", "580.1", "[N/A]", "1980", "2619", "[N/A]", "[N/A]", "500.00", "4"},
	}
}

func TestDevicesOfAServer(t *testing.T) {
	for name, c := range map[string]struct {
		rows    [][]string
		err     error
		environ []string
		env     map[string]string
		ranks   int
		want    []string
		note    string
	}{
		"all that are needed":       {rows: twoDevices(), ranks: 2, want: []string{"GPU-a", "GPU-b"}},
		"the first":                 {rows: twoDevices(), ranks: 1, want: []string{"GPU-a"}},
		"chosen in the environment": {rows: twoDevices(), environ: []string{"CUDA_VISIBLE_DEVICES=1"}, ranks: 1, want: []string{"GPU-b"}},
		"the file wins":             {rows: twoDevices(), environ: []string{"CUDA_VISIBLE_DEVICES=1"}, env: map[string]string{"CUDA_VISIBLE_DEVICES": "0"}, ranks: 1, want: []string{"GPU-a"}},
		"no tool":                   {err: process.ErrNoGPUTool, ranks: 1},
		"a driver that fails":       {err: errors.New("cannot ask nvidia-smi: exit status 9"), ranks: 1, note: "exit status 9"},
		"a line of another shape":   {rows: [][]string{{"0", "GPU-a"}}, ranks: 1, note: "2 fields"},
		"a device without a number": {rows: [][]string{{"x", "", "", "", "", "", "", "", "", "", ""}}, ranks: 1, note: "without a number"},
	} {
		h := &host{environ: c.environ, ask: driver(c.rows, nil, c.err)}
		m := h.Look(context.Background(), serverconf.Server{TensorParallel: c.ranks, PipelineParallel: 1, DataParallel: 1, Env: c.env})
		var got []string
		for _, d := range m.Devices {
			got = append(got, d.UUID)
		}
		if !reflect.DeepEqual(got, c.want) || !strings.Contains(strings.Join(m.Notes, " "), c.note) || (c.note == "") != (len(m.Notes) == 0) {
			t.Errorf("%s: %v, %q", name, got, m.Notes)
		}
		if m.BootID == "" || m.Cores < 1 || m.MemoryMiB == nil || m.Kernel == "" {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestWhatTheDriverDoesNotKnowIsUnknown(t *testing.T) {
	h := &host{ask: driver(twoDevices(), nil, nil)}
	d := h.Look(context.Background(), serverconf.Server{TensorParallel: 2, PipelineParallel: 1, DataParallel: 1}).Devices
	if *d[0].SMMHz != 1410 || *d[0].PowerW != 118.2 || *d[0].TempC != 41 || d[1].SMMHz != nil || d[1].PowerW != nil || d[1].TempC != nil || *d[1].CapW != 500 {
		t.Errorf("%+v", d)
	}
}

func TestStrangersOnTheDevices(t *testing.T) {
	m := Machine{Devices: []Device{{UUID: "GPU-a"}, {UUID: "GPU-b"}}}
	for name, c := range map[string]struct {
		apps [][]string
		own  []int
		want int
	}{
		"nobody":                                   {nil, nil, 0},
		"somebody before the start":                {[][]string{{"GPU-a", "7", "train"}}, nil, 1},
		"only the server":                          {[][]string{{"GPU-a", "7", "x"}, {"GPU-b", "8", "x"}}, []int{7, 8, 9}, 0},
		"the server and another":                   {[][]string{{"GPU-a", "7", "x"}, {"GPU-a", "99", "train"}}, []int{7}, 1},
		"on a device that is not ours":             {[][]string{{"GPU-c", "99", "train"}}, []int{7}, 0},
		"numbers of the machine, in a container":   {[][]string{{"GPU-a", "4007", "x"}, {"GPU-b", "4008", "x"}}, []int{7, 8}, 0},
		"one more than ours can be":                {[][]string{{"GPU-a", "4007", "x"}, {"GPU-b", "4008", "x"}, {"GPU-b", "4009", "x"}}, []int{7, 8}, 3},
		"a line of another shape is passed over":   {[][]string{{"GPU-a"}}, nil, 0},
		"a process whose number cannot be read is": {[][]string{{"GPU-a", "[N/A]", "?"}}, nil, 1},
	} {
		h := &host{ask: driver(nil, c.apps, nil)}
		if got := h.Strangers(context.Background(), m, c.own); len(got) != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestRoles(t *testing.T) {
	for title, want := range map[string]role{"VLLM::EngineCore": roleEngine, "VLLM::EngineCore_DP1": roleEngine, "VLLM::Worker_TP0": roleWorker,
		"VLLM::APIServer_1": roleFrontEnd, "python3 -m vllm": roleOther, "": roleOther} {
		if got := roleOf(title); got != want {
			t.Errorf("%q: %d", title, got)
		}
	}
	me := process.Identity{PID: os.Getpid()}
	r := newRoles(me, []process.Identity{me})
	before := r.time()
	for began := time.Now(); time.Since(began) < 60*time.Millisecond; { // work that is seen in two ticks at least
		_ = strings.Repeat("x", 1000)
	}
	after := r.time()
	if before.FrontEnd == nil || before.Engine != nil || *after.FrontEnd < *before.FrontEnd {
		t.Errorf("%+v, then %+v", before, after)
	}
}

func TestProcessorTimeOfAProcess(t *testing.T) {
	line := func(name string) []byte {
		return []byte("12 (" + name + ") S 1 12 12 0 -1 4194560 100 0 0 0 250 50 7 8 20 0 5 0 1000 1 2 3")
	}
	for _, name := range []string{"python3", "VLLM::Engine) R (x", "a b c"} {
		if d, err := parseUsed(line(name)); err != nil || d != 3*time.Second {
			t.Errorf("%s: %s, %v", name, d, err)
		}
	}
	for _, text := range []string{"", "12", "12 (x) S 1 2 3", "12 (x) S 1 12 12 0 -1 4194560 100 0 0 0 x 50 7"} {
		if d, err := parseUsed([]byte(text)); err == nil {
			t.Errorf("%q: %s", text, d)
		}
	}
}

func TestCores(t *testing.T) {
	at := time.Unix(100, 0)
	var samples []CPUTime
	for i := range 11 { // idle for five seconds, then two cores
		engine := time.Duration(max(0, i-5)) * 2 * time.Second
		samples = append(samples, CPUTime{At: at.Add(time.Duration(i) * time.Second), Engine: &engine})
	}
	if c := cores(samples, at.Add(5*time.Second), at.Add(10*time.Second)); *c.Engine != 2 || c.FrontEnd != nil {
		t.Errorf("%+v", c)
	}
	if c := cores(samples, at, at.Add(10*time.Second)); *c.Engine != 1 {
		t.Errorf("%+v", c)
	}
	for _, few := range [][]CPUTime{nil, samples[:1]} {
		if c := cores(few, at, at.Add(time.Second)); c != nil {
			t.Errorf("%+v", c)
		}
	}
	gone := time.Duration(0)
	if c := cores([]CPUTime{samples[10], {At: at.Add(11 * time.Second), Engine: &gone}}, at, at.Add(time.Hour)); c == nil || c.Engine != nil {
		t.Errorf("a process that went: %+v", c)
	}
}

func FuzzUsed(f *testing.F) {
	f.Add([]byte("12 (python) S 1 12 12 0 -1 4194560 100 0 0 0 250 50 7"))
	f.Add([]byte(")"))
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = parseUsed(text) })
}
