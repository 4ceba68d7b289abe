package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"opprof/engine/supervisor/process"
)

// role is what a process of a server does.
type role uint8

const (
	roleOther role = iota
	roleFrontEnd
	roleEngine
	roleWorker
)

// roles are the processes of a server with what each does.
type roles struct {
	members []member
}

type member struct {
	id   process.Identity
	role role
}

// newRoles tells processes apart by the titles that vLLM gives them (vllm/utils/system_utils.py, set_process_title); the first one serves
// HTTP.
func newRoles(leader process.Identity, members []process.Identity) roles {
	var out roles
	for _, id := range members {
		m := member{id: id, role: roleOf(title(id.PID))}
		if id.PID == leader.PID {
			m.role = roleFrontEnd
		}
		out.members = append(out.members, m)
	}
	return out
}

func roleOf(title string) role {
	switch {
	case strings.HasPrefix(title, "VLLM::EngineCore"):
		return roleEngine
	case strings.HasPrefix(title, "VLLM::Worker"):
		return roleWorker
	case strings.HasPrefix(title, "VLLM::APIServer"):
		return roleFrontEnd
	}
	return roleOther
}

func title(pid int) string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return ""
	}
	return string(bytes.TrimRight(bytes.ReplaceAll(text, []byte{0}, []byte{' '}), " "))
}

// tick is the unit of processor times in /proc: Linux has had 100 a second for user space since it began.
const tick = 10 * time.Millisecond

// time adds up what the processes have used so far. A role that no process has is unknown.
func (r roles) time() CPUTime {
	out := CPUTime{At: time.Now()}
	for _, m := range r.members {
		var sum **time.Duration
		switch m.role {
		case roleFrontEnd:
			sum = &out.FrontEnd
		case roleEngine:
			sum = &out.Engine
		case roleWorker:
			sum = &out.Workers
		default:
			continue
		}
		used, err := used(m.id.PID)
		if err != nil {
			continue
		}
		if *sum == nil {
			*sum = new(time.Duration)
		}
		**sum += used
	}
	return out
}

// used is the processor time of all threads of a process.
func used(pid int) (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	return parseUsed(text)
}

// parseUsed reads fields 14 and 15, user and system time, behind a command's name that may hold blanks and brackets.
func parseUsed(text []byte) (time.Duration, error) {
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(f) < 13 {
		return 0, strconv.ErrSyntax
	}
	var sum time.Duration
	for _, field := range f[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}
