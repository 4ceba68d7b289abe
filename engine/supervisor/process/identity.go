// Package process starts a server of several processes, finds it again after its parent was replaced, and ends all of it without ever
// signalling a process that is not its own.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Identity names a process beyond its number, which the system gives to another once it is gone: the time it started, in clock ticks since
// this boot. A signal is sent to an identity, never to a bare number.
type Identity struct {
	PID       int    `json:"pid"`
	StartTime uint64 `json:"starttime"` // clock ticks after boot, field 22 of /proc/<pid>/stat
	BootID    string `json:"boot_id"`
}

// ErrGone says that a process has ended, or that its number belongs to another by now.
var ErrGone = errors.New("the process is gone")

// Identify reads a process's identity.
func Identify(pid int, bootID string) (Identity, error) {
	s, err := readStat(pid)
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: pid, StartTime: s.startTime, BootID: bootID}, nil
}

// Alive reports whether this very process runs now. A zombie does not.
func (id Identity) Alive(bootID string) bool {
	if id.PID <= 0 || id.BootID != bootID {
		return false
	}
	s, err := readStat(id.PID)
	return err == nil && s.startTime == id.StartTime && s.state != 'Z' && s.state != 'X'
}

// stat is what is needed of /proc/<pid>/stat.
type stat struct {
	state     byte
	parent    int
	group     int
	session   int
	startTime uint64
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return stat{}, ErrGone
		}
		return stat{}, fmt.Errorf("cannot read the state of process %d: %w", pid, err)
	}
	return parseStat(text)
}

// parseStat reads the fields after the command's name, which may hold blanks and brackets of its own.
func parseStat(text []byte) (stat, error) {
	i := bytes.LastIndexByte(text, ')')
	if i < 0 {
		return stat{}, errors.New("cannot read a process's state: no command name")
	}
	f := strings.Fields(string(text[i+1:]))
	if len(f) < 20 {
		return stat{}, fmt.Errorf("cannot read a process's state: %d fields after the name, expected 20", len(f))
	}
	var s stat
	var errs [4]error
	s.state = f[0][0]
	s.parent, errs[0] = strconv.Atoi(f[1])
	s.group, errs[1] = strconv.Atoi(f[2])
	s.session, errs[2] = strconv.Atoi(f[3])
	s.startTime, errs[3] = strconv.ParseUint(f[19], 10, 64)
	return s, errors.Join(errs[:]...)
}

// Family is what all processes of a server have in common: a control group where there is one, the process group that the first leads, and
// a mark in the environment that those carry which have left it. Programs that rename themselves may overwrite their environment: none is
// enough alone.
type Family struct {
	Leader Identity
	Mark   string // KEY=value; "" is none
	Cgroup string // folder of the control group; "" is none
}

// Members are the live processes of a family, this process left out. Zombies hold nothing and are left out too.
func (f Family) Members() []Identity {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	group, inside := f.group(), map[int]bool{}
	for _, pid := range cgroupMembers(f.Cgroup) {
		inside[pid] = true
	}
	var out []Identity
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		s, err := readStat(pid)
		if err != nil || s.state == 'Z' || s.state == 'X' {
			continue
		}
		if inside[pid] || (group > 0 && s.group == group && s.startTime >= f.Leader.StartTime) || (f.Mark != "" && hasEnvironment(pid, f.Mark)) {
			out = append(out, Identity{PID: pid, StartTime: s.startTime, BootID: f.Leader.BootID})
		}
	}
	return out
}

// group is the number of the family's group, 0 once that number leads a group of somebody else.
func (f Family) group() int {
	if f.Leader.PID <= 0 {
		return 0
	}
	if s, err := readStat(f.Leader.PID); err == nil && s.startTime != f.Leader.StartTime {
		return 0
	}
	return f.Leader.PID
}

func hasEnvironment(pid int, entry string) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return false
	}
	for v := range bytes.SplitSeq(text, []byte{0}) {
		if string(v) == entry {
			return true
		}
	}
	return false
}
