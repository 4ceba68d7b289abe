package supervisor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opprof/engine/control"
	"opprof/engine/rundir"
	"opprof/engine/supervisor/fakeserver"
)

// TestServersThatFail: what the last word of a run says for each way in which a server may fail, with no process left behind.
func TestServersThatFail(t *testing.T) {
	for _, c := range []struct {
		name    string
		options fakeserver.Options
		tweak   func(*Config)
		end     func(r *run) string
		words   []string
		exit    string
	}{
		{name: "it dies at its start", options: fakeserver.Options{Fault: fakeserver.DiesAtStart},
			words: []string{"did not start (exit code 1, while loading weights)", "EngineCore: " + fakeserver.Cause}, exit: "failed"},
		{name: "its address is taken", options: fakeserver.Options{Fault: fakeserver.PortTaken},
			tweak: func(c *Config) { taken(t, c.Address.Socket) },
			words: []string{"did not start (exit code 1", "Address already in use"}, exit: "failed"},
		{name: "it cannot be started", tweak: func(c *Config) { c.Command.Argv = []string{"/nowhere/python", "-m", "vllm"} },
			words: []string{"cannot start the server", "/nowhere/python"}, exit: "failed"},
		{name: "its flags are wrong", tweak: func(c *Config) { c.Command.Argv = append(c.Command.Argv, "--port", "x") },
			words: []string{"exit code 2", `vllm: error: argument --port`}, exit: "failed"},
		{name: "it never becomes ready", options: fakeserver.Options{Fault: fakeserver.NeverReady},
			tweak: func(c *Config) { c.StartTimeout = 700 * time.Millisecond },
			words: []string{"not ready within 700ms; it was loading weights"}, exit: "failed"},
		{name: "it is stopped during its start", options: fakeserver.Options{Fault: fakeserver.NeverReady},
			end: func(r *run) string {
				r.await(eventState, map[string]any{"phase": "map[done:0 name:loading weights total:0]"})
				return r.end()
			},
			words: []string{"stopped: ordered by a client"}, exit: "stopped"},
		{name: "it is stopped during its start and does not hear", options: fakeserver.Options{Fault: fakeserver.DeafStart},
			tweak: func(c *Config) { c.Timing.StopStart, c.ShutdownTimeout = 300*time.Millisecond, time.Hour },
			end: func(r *run) string {
				r.await(eventState, map[string]any{"phase": "map[done:0 name:loading weights total:0]"})
				return r.end()
			},
			words: []string{"stopped: ordered by a client; it was loading weights, still there 300ms after SIGTERM, and was killed"}, exit: "stopped"},
		{name: "its engine is killed", options: fakeserver.Options{Fault: fakeserver.EngineKilled, Steps: 60},
			words: []string{"ended by itself (exit code 0)", "CUDA out of memory", "1 process that it left was killed"}, exit: "dead"},
		{name: "it drains slowly", options: fakeserver.Options{Fault: fakeserver.SlowDrain},
			tweak: func(c *Config) { c.Timing.StopMargin = 600 * time.Millisecond },
			end:   func(r *run) string { r.state(control.Ready); return r.end() },
			words: []string{"stopped while draining", "still there 800ms after SIGTERM"}, exit: "stopped"},
		{name: "its children ignore SIGTERM", options: fakeserver.Options{Fault: fakeserver.StubbornChildren},
			end:   func(r *run) string { r.state(control.Ready); return r.end() },
			words: []string{"stopped: ordered", "1 process that it left was killed"}, exit: "stopped"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := newConfig(t, c.options, 1)
			if c.tweak != nil {
				c.tweak(&config)
			}
			r := launch(t, config)
			end := (*run).closed
			if c.end != nil {
				end = c.end
			}
			word := end(r)
			has(t, word, c.words...)
			if m, _ := rundir.ReadManifest(config.Dir); m.Exit == nil || m.Exit.State != c.exit {
				t.Errorf("manifest: %+v", m.Exit)
			}
			t.Log(word)
		})
	}
}

// TestServersThatHang: a server that lives and does not serve is stalled, for the right reason, and can be stopped.
func TestServersThatHang(t *testing.T) {
	for fault, words := range map[string]string{
		fakeserver.HungEngine: "no step has completed",
		fakeserver.HungHealth: "no good answer to /health",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			r := launch(t, newConfig(t, fakeserver.Options{Fault: fault, Steps: 50}, 1))
			e := r.state(control.Stalled)
			has(t, e["reason"].(string), words)
			has(t, r.end(), "stopped")
		})
	}
}

// TestWindowsThatFail: what a window ends as when something goes wrong in it, and that the next one is not harmed.
func TestWindowsThatFail(t *testing.T) {
	for _, c := range []struct {
		fault, state, words string
		steps               int64
	}{
		{fault: fakeserver.HungStart, state: control.WindowFailed, words: "/start_profile"},
		{fault: fakeserver.RefusesStart, state: control.WindowFailed, words: "500 Internal Server Error: the profiler does not start"},
		{fault: fakeserver.HungStop, state: control.WindowIncomplete, words: "/stop_profile"},
		{fault: fakeserver.MissingRank, state: control.WindowIncomplete, words: "1 of 2 ranks left a trace"},
		{fault: fakeserver.CutTrace, state: control.WindowIncomplete, words: "is not complete"},
		{fault: fakeserver.OtherLabels, state: control.WindowIncomplete, words: "label 4 is not step"},
		{fault: fakeserver.SmallFiles, state: control.WindowFailed, words: "is not complete"},
		{fault: fakeserver.EndsTraffic, steps: 60, state: control.WindowIncomplete, words: "the traffic ended inside the window"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			r := launch(t, newConfig(t, fakeserver.Options{Fault: c.fault, Steps: c.steps}, 2))
			r.state(control.Ready)
			trigger := control.Trigger{Kind: control.TriggerNow}
			if c.steps > 0 {
				trigger = control.Trigger{Kind: control.TriggerStep, Step: c.steps - 4}
			}
			w := r.arm(trigger, 1)
			if w.State != c.state || !strings.Contains(w.Reason, c.words) {
				t.Errorf("%s: %s", w.State, w.Reason)
			}
			t.Logf("%s: %s", w.State, w.Reason)
			if plain, err := filepath.Glob(filepath.Join(r.config.Dir, rundir.KinetoName, "*.gz")); err != nil || len(plain) > 0 {
				t.Errorf("traces that are not verified were compressed: %v", plain)
			}
			has(t, r.end(), "stopped")
		})
	}
}

// TestAServerKilledInAWindow: what was recorded is looked at, and the window says what happened.
func TestAServerKilledInAWindow(t *testing.T) {
	r := launch(t, newConfig(t, fakeserver.Options{Fault: fakeserver.EngineKilled, Steps: 100}, 1))
	r.state(control.Ready)
	if _, err := r.client.Arm(t.Context(), control.Trigger{Kind: control.TriggerStep, Step: 96}, 2); err != nil {
		t.Fatal(err)
	}
	has(t, r.closed(), "ended by itself")
	m, _ := rundir.ReadManifest(r.config.Dir)
	if m.Windows[0].State != control.WindowFailed || !strings.Contains(m.Windows[0].Reason, "the server ended while the window was open") ||
		m.Windows[1].State != control.WindowCancelled {
		t.Errorf("%+v", m.Windows)
	}
}

func TestATraceThatNobodyAskedForIsTold(t *testing.T) {
	r := launch(t, newConfig(t, fakeserver.Options{Fault: fakeserver.Stray, Steps: 20}, 1))
	r.state(control.Ready)
	r.until("past the stray", func(s control.Status) bool { return len(s.Engines) > 0 && s.Engines[0].StepIndex > 30 })
	if w := r.arm(control.Trigger{Kind: control.TriggerNow}, 1); w.State != control.WindowVerified {
		t.Errorf("%+v", w)
	}
	r.await(eventStray, nil)
	has(t, strings.Join(r.status().Remarks, "\n"), "rank0.1.pt.trace.json was written while no window was open")
	r.end()
}

func TestAFullDiskRefusesWindows(t *testing.T) {
	if err := (&Supervisor{}).enoughDisk(t.TempDir(), 1<<60); err == nil || !strings.Contains(err.Error(), "MiB free") {
		t.Errorf("an exbibyte fits: %v", err)
	}
	if err := (&Supervisor{}).enoughDisk(filepath.Join(t.TempDir(), "none"), 1); err == nil {
		t.Error("a folder that does not exist has room")
	}
}

func TestOnlyOneSupervisorOfARun(t *testing.T) {
	c := newConfig(t, fakeserver.Options{}, 1)
	r := launch(t, c)
	r.state(control.Ready)
	if err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "another process writes") {
		t.Errorf("a second supervisor: %v", err)
	}
	r.end()
	if err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("a run that has ended: %v", err)
	}
}

func TestALastClientThatHangsUp(t *testing.T) {
	for policy, ends := range map[string]bool{HangupStop: true, HangupKeep: false} {
		t.Run(policy, func(t *testing.T) {
			c := newConfig(t, fakeserver.Options{}, 1)
			c.OnHangup = policy
			r := launch(t, c)
			r.state(control.Ready)
			s := r.until("held", func(s control.Status) bool { return s.Clients == 1 })
			if s.OnHangup != policy {
				t.Errorf("policy %q", s.OnHangup)
			}
			r.hang()
			if ends {
				has(t, r.closed(), "the last client has been gone for 300ms")
				return
			}
			r.until("without clients", func(s control.Status) bool { return s.Clients == 0 })
			has(t, r.end(), "ordered by a client")
		})
	}
}

func TestTheSocketIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := listen(filepath.Join(dir, "s")); err == nil || !strings.Contains(err.Error(), "mode 0700") {
		t.Errorf("a folder that others may enter: %v", err)
	}
	r := launch(t, newConfig(t, fakeserver.Options{}, 1))
	r.state(control.Ready)
	st, err := os.Stat(r.config.Socket)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	for uid, ok := range map[uint32]bool{0: true, uint32(os.Getuid()): true, 54321: false} {
		if mayConnect(uid) != ok {
			t.Errorf("user %d may connect: %t", uid, !ok)
		}
	}
	r.end()
}
