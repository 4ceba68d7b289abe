package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"opprof/engine/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStatOfACommandWithOddNames(t *testing.T) {
	tail := " S 7 8 9 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0"
	for name, text := range map[string]string{
		"plain":            "12 (python3)" + tail,
		"blanks, brackets": "12 (a b) c (d))" + tail,
		"a newline":        "12 (a\nb)" + tail,
	} {
		s, err := parseStat([]byte(text))
		if err != nil || s != (stat{state: 'S', parent: 7, group: 8, session: 9, startTime: 4711}) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	for _, bad := range []string{"", "12", "12 (x)", "12 (x) S 1 2", "12 (x" + tail} {
		if s, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q gave %+v", bad, s)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("1 (x) S 7 8 9 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0"))
	f.Fuzz(func(t *testing.T, text []byte) { _, _ = parseStat(text) })
}

func TestIdentityOutlivesNoProcess(t *testing.T) {
	boot := journal.BootID()
	self, err := Identify(os.Getpid(), boot)
	if err != nil || !self.Alive(boot) {
		t.Fatalf("%+v, %v", self, err)
	}
	if self.Alive("another boot") {
		t.Error("alive in another boot")
	}
	other := self
	other.StartTime++
	if other.Alive(boot) {
		t.Error("alive with another start time")
	}
	if err := other.signal(0); !errors.Is(err, ErrGone) {
		t.Errorf("a stranger was signalled: %v", err)
	}
}

// spawn starts a shell as a server would be started.
func spawn(t *testing.T, mark, script string) *Server {
	t.Helper()
	p, err := Start(Spec{Argv: []string{"sh", "-c", script}, Env: os.Environ(), Log: filepath.Join(t.TempDir(), "log"), Mark: mark}, journal.BootID())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill(); <-p.Exited() })
	return p
}

// until waits for a condition that other processes bring about.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for ; !ok(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatalf("not %s", what)
		}
	}
}

func TestHowAServerEnds(t *testing.T) {
	for script, want := range map[string]string{"exit 7": "exit code 7", "kill -9 $$": "killed by SIGKILL"} {
		p := spawn(t, "M=1", script)
		<-p.Exited()
		if got := p.Exit().String(); got != want {
			t.Errorf("%s: %s", script, got)
		}
	}
	if _, err := Start(Spec{Argv: []string{"/nowhere"}, Log: filepath.Join(t.TempDir(), "log")}, ""); err == nil {
		t.Error("a program that does not exist was started")
	}
}

// TestTheWholeFamilyIsFoundAndKilled: those of the group, and those that left it with the mark; nobody else.
func TestTheWholeFamilyIsFoundAndKilled(t *testing.T) {
	stranger := exec.Command("sleep", "1000")
	stranger.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Process.Kill(); _ = stranger.Wait() }()
	mark := "OPPROF_TEST_MARK=" + filepath.Base(t.TempDir()) + t.Name()
	p := spawn(t, mark, "trap '' TERM; sleep 1000 & setsid sleep 1000 & env -i sleep 1000 & wait")
	until(t, "four processes", func() bool { return len(p.Members()) == 4 })
	if id, ok := Find(mark, journal.BootID()); !ok || id.PID != p.Leader.PID {
		t.Errorf("found %+v by its mark, want %+v", id, p.Leader)
	}
	if slices.ContainsFunc(p.Members(), func(id Identity) bool { return id.PID == stranger.Process.Pid }) {
		t.Error("a stranger is a member")
	}
	until(t, "killed", func() bool { return len(p.Kill()) == 0 })
	<-p.Exited()
	if err := stranger.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the stranger: %v", err)
	}
}

func TestAnAdoptedServer(t *testing.T) {
	p := spawn(t, "M=2", "read x < /dev/zero; sleep 1000")
	other := p.Leader
	other.StartTime++
	if _, err := Adopt(Family{Leader: other, Mark: "M=2"}, journal.BootID()); !errors.Is(err, ErrGone) {
		t.Errorf("a stranger was adopted: %v", err)
	}
	a, err := Adopt(p.Family, journal.BootID())
	if err != nil {
		t.Fatal(err)
	}
	released, err := Adopt(p.Family, journal.BootID())
	if err != nil {
		t.Fatal(err)
	}
	released.Release() // ends its watch, or goleak tells
	if err := a.Terminate(); err != nil {
		t.Fatal(err)
	}
	<-a.Exited()
	if got := a.Exit().String(); got != "exit code unknown" {
		t.Error(got)
	}
	a.Release()
	<-p.Exited()
	if err := a.Terminate(); !errors.Is(err, ErrGone) {
		t.Errorf("a signal after the end: %v", err)
	}
}

func TestDetach(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	pid, ended, err := Detach("/bin/sh", []string{"sh", "-c", "ps -o sid= -p $$; exit 3"}, os.Environ(), log)
	if err != nil {
		t.Fatal(err)
	}
	if e := <-ended; e.Code != 3 {
		t.Errorf("%+v", e)
	}
	text, err := os.ReadFile(log)
	if sid := strings.TrimSpace(string(text)); err != nil || sid != "" && sid != strconv.Itoa(pid) {
		t.Errorf("session %q of process %d, %v", sid, pid, err)
	}
}

func TestGPUs(t *testing.T) {
	text := "0, GPU-aa11, NVIDIA H20, 12, 97871, 1980, 500.00\n1, GPU-bb22, NVIDIA H20, 50000, 97871, [N/A], [N/A]\n"
	all, err := parseGPUs(text)
	if err != nil || len(all) != 2 || all[0] != (GPU{0, "GPU-aa11", "NVIDIA H20", 12, 97871, 1980, 500}) || all[1].ClockMHz != 0 || all[1].UsedMiB != 50000 {
		t.Fatalf("%+v, %v", all, err)
	}
	for value, want := range map[string][]int{"0,1": {0, 1}, "1": {1}, "1,0": {1, 0}, "": {}, "GPU-bb": {1}, "0,7,1": {0}, "-1": {}, "GPU-": {0}} {
		var got []int
		for _, g := range Visible(all, value, true) {
			got = append(got, g.Index)
		}
		if !slices.Equal(got, want) {
			t.Errorf("CUDA_VISIBLE_DEVICES=%q: %v", value, got)
		}
	}
	if len(Visible(all, "", false)) != 2 {
		t.Error("unset hides devices")
	}
	for _, bad := range []string{"0, x\n", "a, b, c, d, e, f, g\n"} {
		if g, err := parseGPUs(bad); err == nil {
			t.Errorf("%q gave %+v", bad, g)
		}
	}
}

func TestOwnCgroup(t *testing.T) {
	unified := "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	for _, c := range []struct{ name, mounts, own, want string }{
		{"unified", unified, "0::/user.slice/a\n", "/sys/fs/cgroup/user.slice/a"},
		{"hybrid", "30 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", "9:pids:/\n0::/\n", "/sys/fs/cgroup/unified"},
		{"a container's part", "30 23 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/docker/x/y\n", "/sys/fs/cgroup/y"},
		{"outside of the mount", "30 23 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/../z\n", ""},
		{"version 1 alone", "30 23 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n", "9:pids:/\n", ""},
		{"nothing", "", "", ""},
	} {
		got, err := ownCgroup(c.mounts, c.own)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

// TestNothingLeavesItsCgroup: a process without mark and group is still found and killed.
func TestNothingLeavesItsCgroup(t *testing.T) {
	group, err := NewCgroup("opprof-test-" + strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Skip(err)
	}
	p, err := Start(Spec{Argv: []string{"sh", "-c", "setsid env -i sleep 1000 & wait"}, Env: os.Environ(), Log: filepath.Join(t.TempDir(), "log"),
		Mark: "M=3", Cgroup: group}, journal.BootID())
	if err != nil {
		t.Fatal(err)
	}
	until(t, "two processes", func() bool { return len(p.Members()) == 2 })
	until(t, "killed", func() bool { return len(p.Kill()) == 0 })
	<-p.Exited()
	until(t, "removed", func() bool {
		p.RemoveCgroup()
		_, err := os.Stat(group)
		return err != nil
	})
}
