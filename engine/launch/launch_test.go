package launch

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opprof/engine/serverconf"
	"opprof/engine/supervisor/process"
)

func server(model string) serverconf.Server {
	s := serverconf.Defaults()
	s.Model = model
	return s
}

func TestArgvIsAListInWhichNothingIsInterpreted(t *testing.T) {
	s := server("/models/a b; rm")
	s.Wrapper, s.TensorParallel, s.Args = []string{"numactl", "-m", "0"}, 2, []string{"--seed", "1"}
	got := Argv(s, "/run/x")
	want := []string{"numactl", "-m", "0", "python3", "-m", "vllm.entrypoints.cli.main", "serve", "/models/a b; rm", "--host", "127.0.0.1", "--port", "8000",
		"--tensor-parallel-size", "2", "--shutdown-timeout", "30", "--disable-access-log-for-endpoints", "/health", "--profiler-config"}
	if len(got) != len(want)+3 || !slices.Equal(got[:len(want)], want) || !slices.Equal(got[len(got)-2:], s.Args) {
		t.Fatalf("%q", got)
	}
	for _, part := range []string{`"torch_profiler_with_stack":false`, `"torch_profiler_use_gzip":false`, `"torch_profiler_dump_cuda_time_total":false`,
		`"torch_profiler_dir":"/run/x/kineto"`, `"max_iterations":10`, `"warmup_iterations":0`, `"ignore_frontend":true`} {
		if !strings.Contains(got[len(want)], part) {
			t.Errorf("%s lacks %s", got[len(want)], part)
		}
	}
	for _, arg := range []string{"--disable-uvicorn-access-log", "--disable_access_log_for_endpoints=/ping"} {
		s.Args = []string{arg}
		if own := Argv(s, "/run/x"); slices.Contains(own, accessLogFlag) {
			t.Errorf("%q", own)
		}
	}
	s.Profiler.Enabled, s.UDS = false, "/run/v.sock"
	if off := Argv(s, "/run/x"); slices.Contains(off, "--profiler-config") || slices.Contains(off, "--port") || !slices.Contains(off, "--uds") {
		t.Errorf("%q", off)
	}
}

func TestTheTorchSchedule(t *testing.T) {
	s := server("m")
	s.Profiler.Schedule = serverconf.ScheduleTorch
	p, w := Profiler(s, "/r"), Windows(s)
	if p["warmup_iterations"] != 2 || p["active_iterations"] != 8 || p["max_iterations"] != 8 || w.MaxIterations != 8 || w.Skip != 1 || !w.OneOnly {
		t.Errorf("%v, %+v", p, w)
	}
}

func TestTheEnvironmentOfAServer(t *testing.T) {
	s := server("m")
	s.Env = map[string]string{"NCCL_DEBUG": "INFO", "VLLM_OPPROF_DIR": "/elsewhere"}
	inherited := []string{"HF_TOKEN=secret", "PYTHONPATH=/mine", "NCCL_DEBUG=WARN", "VLLM_OPPROF_DIR=/old", "VLLM_API_KEY=secret"}
	first := func(path string) string { return "/overlay:" + path }
	got := Environ(inherited, s, "/run/x", first)
	for _, want := range []string{"HF_TOKEN=secret", "PYTHONPATH=/overlay:/mine", "NCCL_DEBUG=INFO", "VLLM_OPPROF_DIR=/run/x/layer1"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
	if len(got) != 5 {
		t.Errorf("%q", got)
	}
	if r := Recorded(got); len(r) != 3 || r["HF_TOKEN"] != "" || r["VLLM_API_KEY"] != "" {
		t.Errorf("recorded: %v", r)
	}
	s.Record = false
	if off := Environ(inherited, s, "/run/x", first); slices.ContainsFunc(off, func(e string) bool { return strings.HasPrefix(e, "VLLM_OPPROF_DIR") }) {
		t.Errorf("recorder off: %q", off)
	}
}

// machine is one on which nothing is wrong.
func machine() Machine {
	return Machine{
		GPUs:     func(context.Context) ([]process.GPU, error) { return nil, process.ErrNoGPUTool },
		Patch:    func(context.Context, string) (string, error) { return "0.24.0", nil },
		LookPath: func(name string) (string, error) { return "/usr/bin/" + name, nil },
	}
}

func model(t *testing.T, weights int64) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "a.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(weights); err != nil {
		t.Fatal(err)
	}
	return dir
}

func gpus(list ...process.GPU) func(context.Context) ([]process.GPU, error) {
	return func(context.Context) ([]process.GPU, error) { return list, nil }
}

func TestWhatAPreflightFinds(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	free := process.GPU{Name: "H20", TotalMiB: 97871}
	for _, c := range []struct {
		name  string
		tweak func(*serverconf.Server, *Machine)
		want  []string
	}{
		{"nothing", func(*serverconf.Server, *Machine) {}, nil},
		{"flags in every spelling", func(s *serverconf.Server, _ *Machine) {
			s.Args = []string{"--disable_log_stats", "--port=1", "-tp", "4", "--profiler-config.profiler=torch", "--api-key", "x"}
		}, []string{"--disable-log-stats", "--port", "-tp", "--profiler-config.profiler", "VLLM_API_KEY"}},
		{"a version that is not known", func(_ *serverconf.Server, m *Machine) {
			m.Patch = func(context.Context, string) (string, error) { return "", errors.New("vllm 0.23.0 is not 0.24.0") }
		}, []string{"vllm 0.23.0"}},
		{"ssh", func(s *serverconf.Server, _ *Machine) { s.Wrapper = []string{"ssh", "gpu7"} }, []string{"run opprof launch on that machine"}},
		{"docker", func(s *serverconf.Server, _ *Machine) { s.Wrapper = []string{"/usr/bin/docker", "run"} }, []string{"opprof patch apply"}},
		{"a shell", func(s *serverconf.Server, _ *Machine) { s.Wrapper = []string{"sh", "-c", "x"} }, []string{"becomes the server"}},
		{"srun of many tasks", func(s *serverconf.Server, _ *Machine) { s.Wrapper = []string{"srun", "-n", "2"} }, []string{"add -n1"}},
		{"srun of one task", func(s *serverconf.Server, _ *Machine) { s.Wrapper = []string{"srun", "-n", "1"} }, nil},
		{"a port that is taken", func(s *serverconf.Server, _ *Machine) { s.Port = busy.Addr().(*net.TCPAddr).Port }, []string{"address already in use"}},
		{"a long socket", func(s *serverconf.Server, _ *Machine) { s.UDS = "/" + strings.Repeat("x", 120) }, []string{"107"}},
		{"a model that is not there", func(s *serverconf.Server, _ *Machine) { s.Model = "/nowhere/m" }, []string{"model /nowhere/m: it does not exist"}},
		{"a model without its configuration", func(s *serverconf.Server, _ *Machine) { s.Model = t.TempDir() }, []string{"the folder has no config.json"}},
		{"a model that is a file", func(s *serverconf.Server, _ *Machine) { s.Model = filepath.Join(s.Model, "config.json") }, []string{"it is not a folder"}},
		{"a model that cannot be fetched", func(s *serverconf.Server, m *Machine) {
			s.Model, m.Environ = "org/name", []string{"HF_HUB_OFFLINE=1", "HF_HOME=/nowhere"}
		}, []string{"HF_HUB_OFFLINE"}},
		{"too few devices", func(s *serverconf.Server, m *Machine) { s.TensorParallel, m.GPUs = 2, gpus(free) }, []string{"1 device visible, and the server needs 2"}},
		{"devices hidden", func(_ *serverconf.Server, m *Machine) {
			m.GPUs, m.Environ = gpus(free), []string{"CUDA_VISIBLE_DEVICES="}
		}, []string{"0 devices visible"}},
		{"a busy device", func(_ *serverconf.Server, m *Machine) {
			g := free
			g.UsedMiB = 50000
			m.GPUs = gpus(g)
		}, []string{"GPU 0 (H20) is not free: 50000 of 97871 MiB"}},
		{"weights that do not fit", func(_ *serverconf.Server, m *Machine) { m.GPUs = gpus(process.GPU{Name: "small", TotalMiB: 1000}) }, []string{"the weights need 1024 MiB"}},
		{"all at once", func(s *serverconf.Server, m *Machine) {
			s.Model, s.Args, s.Wrapper = "/nowhere/m", []string{"--headless"}, []string{"ssh", "x"}
			m.Patch = func(context.Context, string) (string, error) { return "", errors.New("no vllm") }
		}, []string{"--headless", "ssh", "no vllm", "/nowhere/m"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, m := server(model(t, 1<<30)), machine()
			s.UDS = filepath.Join(t.TempDir(), "s")
			if len(s.UDS) > maxSocketPath {
				t.Skip("the temporary folder's path is too long for a socket")
			}
			if strings.Contains(c.name, "port") {
				s.UDS = ""
			}
			c.tweak(&s, &m)
			r := Preflight(t.Context(), m, s, filepath.Join(t.TempDir(), "runs", "x"))
			if len(r.Problems) != len(c.want) {
				t.Errorf("problems %q", r.Problems)
			}
			for _, want := range c.want {
				if !strings.Contains(strings.Join(r.Problems, "\n"), want) {
					t.Errorf("%q does not say %q", r.Problems, want)
				}
			}
		})
	}
}

func TestNotes(t *testing.T) {
	s, m := server(model(t, 1<<30)), machine()
	s.Host, s.Port, m.GPUs = "0.0.0.0", freePort(t), gpus(process.GPU{Name: "H20", TotalMiB: 97871})
	m.Environ = []string{"SLURM_JOB_ID=7"}
	r := Preflight(t.Context(), m, s, t.TempDir())
	notes := strings.Join(r.Notes, "\n")
	for _, want := range []string{"can be reached from other machines", "weights 1024 MiB of 90041 MiB", "Slurm job 7"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q does not say %q", notes, want)
		}
	}
	conf := filepath.Join(t.TempDir(), "logind.conf")
	for text, want := range map[string]bool{"[Login]\nKillUserProcesses=yes\n": true, "#KillUserProcesses=yes\n": false, "KillUserProcesses = no": false, "": false} {
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if killsUserProcesses(conf) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func TestARunFolderThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var r Report
	checkFolder(&r, filepath.Join(file, "x"))
	if len(r.Problems) != 1 {
		t.Errorf("%q", r.Problems)
	}
}
