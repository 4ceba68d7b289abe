package supervisor

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

// members are the live processes that belong to a run: those of its group, and those that carry its mark in their environment, wherever
// they have moved. Zombies are left out: they hold nothing.
func members(group int, mark string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		s, err := readStat(pid)
		if err != nil || s.state == 'Z' || s.state == 'X' {
			continue
		}
		if (group > 0 && s.group == group) || (mark != "" && hasEnvironment(pid, mark)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func hasEnvironment(pid int, entry string) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return false
	}
	for _, v := range bytes.Split(text, []byte{0}) {
		if string(v) == entry {
			return true
		}
	}
	return false
}
