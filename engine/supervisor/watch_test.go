package supervisor

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"opprof/engine/control"
	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/supervisor/fakeserver"
	"opprof/engine/vllm"
)

// foreign is a server that somebody else has started, with a folder of its own.
type foreign struct {
	dir, socket string
	process     *exec.Cmd
}

// startForeign starts a fake server without a supervisor. profiler is its --profiler-config, "" for none; DIR in it is its trace folder.
func startForeign(t *testing.T, dir, socket, profiler string, o fakeserver.Options) *foreign {
	t.Helper()
	f := &foreign{dir: dir, socket: socket}
	for _, name := range []string{rundir.Layer1Name, rundir.KinetoName} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	argv := []string{"-m", "vllm", "serve", "tiny", "--uds", socket}
	if profiler != "" {
		argv = append(argv, "--profiler-config", strings.ReplaceAll(profiler, "DIR", filepath.Join(dir, rundir.KinetoName)))
	}
	f.process = exec.Command(os.Args[0], argv...)
	f.process.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", o.Environ(), "VLLM_OPPROF_DIR="+filepath.Join(dir, rundir.Layer1Name))
	if err := f.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.kill() })
	return f
}

// kill ends the server. What it has started ends with it.
func (f *foreign) kill() {
	_ = f.process.Process.Kill()
	_ = f.process.Wait()
	_ = os.Remove(f.socket)
}

// alive reports whether the server has not ended.
func (f *foreign) alive() bool {
	return f.process.ProcessState == nil && f.process.Process.Signal(syscall.Signal(0)) == nil
}

const unlimited = `{"profiler":"torch","torch_profiler_dir":"DIR"}`

// watching is the configuration of a watch over a server.
func watching(t *testing.T, f *foreign) Config {
	t.Helper()
	settings := quickWindows()
	settings.Loose, settings.Folder = true, filepath.Join(f.dir, rundir.KinetoName)
	timing := quick()
	timing.Gone = 100 * time.Millisecond
	return Config{Dir: t.TempDir(), ID: filepath.Base(filepath.Dir(f.socket)), Socket: filepath.Join(filepath.Dir(f.socket), "c", "control"),
		Address: vllm.Address{Socket: f.socket}, Profile: true, Timing: timing, Window: settings, Inspect: countLabels,
		Watched: &Watched{Run: f.dir, Traces: filepath.Join(f.dir, rundir.KinetoName), Streams: func() ([]string, error) {
			return filepath.Glob(filepath.Join(f.dir, rundir.Layer1Name, "*.jsonl"))
		}}}
}

// shortSocket is a path for a server's socket, and one for a control socket beside it.
func shortSocket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "opprof-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "server")
}

// TestAWatch: windows of somebody else's server are opened and verified, nothing of it is changed, it is not stopped, and a later watch goes
// on where this one ended.
func TestAWatch(t *testing.T) {
	f := startForeign(t, t.TempDir(), shortSocket(t), unlimited, fakeserver.Options{})
	before := filepath.Join(f.dir, rundir.KinetoName, "rank0.1.pt.trace.json")
	if err := os.WriteFile(before, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := watching(t, f)
	r := launch(t, c)
	r.state(control.Ready)
	s := r.until("busy", func(s control.Status) bool { return s.State == control.Busy })
	if !s.Server.Watched || !s.Server.Profile || s.Server.PID != 0 || s.Cost.Ranks != 1 || len(s.Remarks) > 0 {
		t.Errorf("status %+v", s)
	}
	w := r.arm(control.Trigger{Kind: control.TriggerNow}, 1)
	if w.State != control.WindowVerified || w.First == nil || *w.Last < *w.First+10 {
		t.Errorf("a window of unlimited iterations: %+v", w)
	}
	if got := suffixes(t, filepath.Join(f.dir, rundir.KinetoName)); !slices.Equal(got, []string{".json", ".json"}) {
		t.Errorf("traces of somebody else were changed: %v", got)
	}
	refused := new(control.Error)
	if err := r.client.Stop(t.Context()); !errors.As(err, &refused) || !strings.Contains(refused.Text, "did not start this server") {
		t.Errorf("a stop: %v", err)
	}
	r.hang()
	has(t, r.closedWatch(), "nobody watches any more")
	if !f.alive() {
		t.Error("the server was ended")
	}
	if _, err := os.Stat(filepath.Join(c.Dir, rundir.ManifestName)); err == nil {
		t.Error("a manifest was written for a run of somebody else")
	}
	stand, err := Stand(c.Dir)
	if err != nil || !stand.Watched || stand.Open || stand.Status.State != control.Unwatched || len(stand.Status.Windows) != 1 {
		t.Errorf("after it: %+v, %v", stand, err)
	}
	again := launch(t, c)
	again.state(control.Ready)
	if w := again.arm(control.Trigger{Kind: control.TriggerNow}, 1); w.N != 2 || w.State != control.WindowVerified {
		t.Errorf("a window of a second watch: %+v", w)
	}
}

// closedWatch waits for the end of a watch and gives its last word.
func (r *run) closedWatch() string {
	r.t.Helper()
	<-r.ended
	if r.err != nil {
		r.t.Fatal(r.err)
	}
	text, err := os.ReadFile(filepath.Join(r.config.Dir, rundir.JournalName))
	if err != nil {
		r.t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

func suffixes(t *testing.T, dir string) (out []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*trace*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		out = append(out, filepath.Ext(p))
	}
	return out
}

func TestAWatchedServerWithoutAProfiler(t *testing.T) {
	f := startForeign(t, t.TempDir(), shortSocket(t), "", fakeserver.Options{})
	c := watching(t, f)
	c.Profile = false
	r := launch(t, c)
	r.state(control.Ready)
	if _, err := r.client.Arm(t.Context(), control.Trigger{Kind: control.TriggerNow}, 1); err == nil || !strings.Contains(err.Error(), "no profile endpoints") {
		t.Errorf("armed: %v", err)
	}
}

// TestAWatchedServerThatComesBack: what is armed goes with a server, and the next one at its address is watched as well.
func TestAWatchedServerThatComesBack(t *testing.T) {
	f := startForeign(t, t.TempDir(), shortSocket(t), unlimited, fakeserver.Options{})
	r := launch(t, watching(t, f))
	r.until("busy", func(s control.Status) bool { return s.State == control.Busy })
	if _, err := r.client.Arm(t.Context(), control.Trigger{Kind: control.TriggerStep, Step: 1 << 40}, 1); err != nil {
		t.Fatal(err)
	}
	f.kill()
	s := r.until("dead", func(s control.Status) bool { return s.State == control.Dead })
	has(t, s.Reason, "the server is gone")
	if s.Windows[0].State != control.WindowCancelled {
		t.Errorf("an armed window: %+v", s.Windows[0])
	}
	if _, err := r.client.Arm(t.Context(), control.Trigger{Kind: control.TriggerNow}, 1); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("armed on a server that is gone: %v", err)
	}
	startForeign(t, f.dir, f.socket, unlimited, fakeserver.Options{})
	s = r.until("busy again", func(s control.Status) bool { return s.State == control.Busy && len(s.Engines) == 1 })
	if w := r.arm(control.Trigger{Kind: control.TriggerNow}, 1); w.State != control.WindowVerified {
		t.Errorf("a window of the new server: %+v", w)
	}
}

// TestTracesElsewhere: the reason says where was looked.
func TestTracesElsewhere(t *testing.T) {
	f := startForeign(t, t.TempDir(), shortSocket(t), `{"profiler":"torch","torch_profiler_dir":"`+t.TempDir()+`"}`, fakeserver.Options{})
	r := launch(t, watching(t, f))
	r.state(control.Ready)
	w := r.arm(control.Trigger{Kind: control.TriggerNow}, 1)
	has(t, w.Reason, "no trace appeared", filepath.Join(f.dir, rundir.KinetoName), "--traces")
	if w.State != control.WindowFailed {
		t.Errorf("%+v", w)
	}
}

// TestAWatchThatIsEndedInAWindow: the profiler is stopped, the server is not.
func TestAWatchThatIsEndedInAWindow(t *testing.T) {
	f := startForeign(t, t.TempDir(), shortSocket(t), unlimited, fakeserver.Options{StepMS: 100})
	r := launch(t, watching(t, f))
	r.state(control.Ready)
	if _, err := r.client.Arm(t.Context(), control.Trigger{Kind: control.TriggerNow}, 1); err != nil {
		t.Fatal(err)
	}
	r.until("recording", func(s control.Status) bool { return s.Windows[0].State == control.WindowRecording })
	r.stop()
	has(t, r.closedWatch(), "told to end")
	if got := profiled(t, f); !slices.Equal(got, []string{record.ActionStart, record.ActionStop}) || !f.alive() {
		t.Errorf("the profiler was told %v; the server runs: %t", got, f.alive())
	}
}

// profiled is what the server's profiler was told, by its records.
func profiled(t *testing.T, f *foreign) (out []string) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(f.dir, rundir.Layer1Name, "*.jsonl"))
	for _, path := range paths {
		in, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for r := record.NewReader(in, path); r.Scan(); {
			if l := r.Line(); l.Kind == record.KindProfile {
				out = append(out, l.Profile.Action)
			}
		}
		in.Close()
	}
	return out
}
