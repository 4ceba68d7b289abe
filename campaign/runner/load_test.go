package runner

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"opprof/campaign/plan"
	"opprof/engine/journal"
	"opprof/engine/serverconf"
	"opprof/engine/supervisor/process"
)

func work(t *testing.T, script string) Work {
	dir := filepath.Join(t.TempDir(), "bench")
	return Work{Argv: []string{"sh", "-c", script}, Env: []string{"MARK=7"}, Dir: dir, Log: filepath.Join(dir, loadLog), Result: filepath.Join(dir, resultName)}
}

func TestALoadRunsInItsFolderWithItsVariables(t *testing.T) {
	l := NewLoads(append(os.Environ(), "VLLM_API_KEY=secret"))
	w := work(t, `echo "mark $MARK $OPENAI_API_KEY"; echo '{}' > result.json; exit 3`)
	var id process.Identity
	end, err := l.Run(context.Background(), w, func(p process.Identity) error { id = p; return nil })
	if err != nil || end.Exit.Code != 3 || end.Tail != "mark 7 secret" || id.PID == 0 || id.BootID != journal.BootID() {
		t.Errorf("%+v, %v, %+v", end, err, id)
	}
	f, at, err := l.Open(w.Result)
	if err != nil || time.Since(at) > time.Minute {
		t.Fatal(at, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Open(w.Result + "x"); err == nil || !strings.Contains(err.Error(), "left no results") {
		t.Error(err)
	}
}

// A generator that is not wanted any more takes its children with it.
func TestALoadEndsWithItsContext(t *testing.T) {
	l := NewLoads(os.Environ())
	w := work(t, "sleep 600 & echo $! > child; sleep 600")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var child string
	_, err := l.Run(ctx, w, func(process.Identity) error {
		for child == "" { // until both run
			if text, err := os.ReadFile(filepath.Join(w.Dir, "child")); err == nil {
				child, _, _ = strings.Cut(string(text), "\n")
			}
		}
		cancel()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if alive(child) {
		t.Errorf("child %s lives", child)
	}
}

func alive(pid string) bool {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(text), ") Z ")
}

func TestALoadOfAnEarlierRunnerIsKilledOnlyIfItIsTheOne(t *testing.T) {
	l := NewLoads(os.Environ())
	w := work(t, "sleep 600")
	over := make(chan LoadEnd, 1)
	begun := make(chan process.Identity, 1)
	go func() {
		end, _ := l.Run(context.Background(), w, func(id process.Identity) error { begun <- id; return nil })
		over <- end
	}()
	id := <-begun
	other := id
	other.StartTime++
	l.Kill(other)
	if !alive(strconv.Itoa(id.PID)) {
		t.Fatal("a process of another start time was killed")
	}
	l.Kill(id)
	if end := <-over; end.Exit.Signal != "SIGKILL" {
		t.Errorf("%+v", end)
	}
}

func TestALoadThatCannotStart(t *testing.T) {
	l := NewLoads(os.Environ())
	w := work(t, "")
	w.Argv = []string{"/no/such/program"}
	if _, err := l.Run(context.Background(), w, func(process.Identity) error { return nil }); err == nil {
		t.Error("it started")
	}
	if v := l.Version(context.Background(), serverconf.Server{Python: "/no/such/python"}, plan.Load{}); v != "" {
		t.Errorf("version %q", v)
	}
	if v := l.Version(context.Background(), serverconf.Server{}, plan.Load{Generator: plan.Generator{Command: []string{"/opt/guidellm", "x"}}}); v != "guidellm" {
		t.Errorf("version %q", v)
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for text, want := range map[string]string{"": "", "a\nb\n": "b", "a\nb": "b", strings.Repeat("x", 5000) + "\nend\n\n": "end", "a\n\xff\n": "?"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := tail(path); got != want {
			t.Errorf("%.20q: %q, want %q", text, got, want)
		}
	}
	if got := tail(path + "x"); got != "" {
		t.Errorf("%q", got)
	}
}
