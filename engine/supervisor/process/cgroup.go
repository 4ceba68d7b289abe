package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// NewCgroup makes a control group below this process's own, where the machine lets it: nothing that is born in it can leave it unseen,
// whatever it does to its group, session and environment. The path is its folder.
func NewCgroup(name string) (path string, err error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", fmt.Errorf("cannot make a control group: %w", err)
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", fmt.Errorf("cannot make a control group: %w", err)
	}
	parent, err := ownCgroup(string(mounts), string(own))
	if err != nil {
		return "", err
	}
	path = filepath.Join(parent, name)
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("cannot make a control group: %w", err)
	}
	return path, nil
}

// ownCgroup is the folder of the unified hierarchy (version 2) that a process with these files belongs to.
func ownCgroup(mountinfo, cgroup string) (string, error) {
	inside := ""
	for line := range strings.Lines(cgroup) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			inside = rest
		}
	}
	for line := range strings.Lines(mountinfo) {
		fields, kind, ok := strings.Cut(line, " - ")
		f := strings.Fields(fields)
		if !ok || len(f) < 5 || !strings.HasPrefix(kind, "cgroup2 ") || inside == "" {
			continue
		}
		below, err := filepath.Rel(f[3], inside)
		if err != nil || below != "." && !filepath.IsLocal(below) {
			return "", errors.New("cannot make a control group: this process's own is not mounted")
		}
		return filepath.Join(f[4], below), nil
	}
	return "", errors.New("cannot make a control group: no unified hierarchy is mounted")
}

// cgroupMembers are the processes of a control group and of those below it. A group that is gone has none.
func cgroupMembers(path string) []int {
	if path == "" {
		return nil
	}
	var pids []int
	_ = filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "cgroup.procs" {
			return nil // a group that vanishes meanwhile has no members
		}
		text, err := os.ReadFile(at)
		if err != nil {
			return nil
		}
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids
}

// killCgroup ends all of a control group at once, those that are being born included. Kernels before 5.14 cannot.
func killCgroup(path string) {
	if path != "" {
		_ = os.WriteFile(filepath.Join(path, "cgroup.kill"), []byte("1"), 0)
	}
}

// RemoveCgroup removes a control group whose processes have ended. Their last threads may take a moment to leave it.
func (f Family) RemoveCgroup() {
	const tries, pause = 40, 25 * time.Millisecond
	for range tries {
		if f.Cgroup == "" {
			return
		}
		if err := os.Remove(f.Cgroup); err == nil || errors.Is(err, fs.ErrNotExist) {
			return
		}
		time.Sleep(pause)
	}
}
