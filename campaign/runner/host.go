package runner

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"opprof/engine/journal"
	"opprof/engine/serverconf"
)

// NewHost looks at this machine. environ says which devices a server may use.
func NewHost(environ []string) Host { return &host{environ: environ, ask: askDriver} }

type host struct {
	environ []string
	ask     func(ctx context.Context, query string) ([][]string, error) // nvidia-smi
}

// Look implements Host.
func (h *host) Look(ctx context.Context, s serverconf.Server) Machine {
	m := Machine{BootID: journal.BootID(), Cores: runtime.NumCPU(), CPU: cpuModel("/proc/cpuinfo"), Devices: []Device{}, Notes: []string{}}
	m.Host, _ = os.Hostname()
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		mib := int64(info.Totalram) * int64(info.Unit) >> 20
		m.MemoryMiB = &mib
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(text), " ")
		if v, err := strconv.ParseFloat(first, 64); err == nil {
			m.Load1 = &v
		}
	}
	h.devices(ctx, s, &m)
	if len(m.Devices) > 0 && runs("dcgm") {
		m.Notes = append(m.Notes, "a DCGM process runs, which may read the devices' counters during the runs")
	}
	return m
}

// cpuModel is the name of the processors.
func cpuModel(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(line, ":")
		if key := strings.TrimSpace(name); ok && (key == "model name" || key == "Processor") {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// runs reports whether a process has a word in its name.
func runs(word string) bool {
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return false
	}
	for _, path := range names {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), word) {
			return true
		}
	}
	return false
}
