package runner

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"opprof/engine/serverconf"
	"opprof/engine/supervisor/process"
)

// driverLimit bounds a question to the driver: it hangs when a device does.
const driverLimit = 20 * time.Second

// askDriver asks nvidia-smi and gives its rows.
func askDriver(ctx context.Context, query string) ([][]string, error) {
	path, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return nil, process.ErrNoGPUTool
	}
	ctx, cancel := context.WithTimeout(ctx, driverLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, query, "--format=csv,noheader,nounits")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot ask nvidia-smi: %w", err)
	}
	in := csv.NewReader(strings.NewReader(string(out)))
	in.TrimLeadingSpace, in.FieldsPerRecord = true, -1
	return in.ReadAll()
}

const (
	deviceQuery  = "--query-gpu=index,uuid,name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,temperature.gpu,power.draw,power.limit,memory.used"
	deviceFields = 11
	appQuery     = "--query-compute-apps=gpu_uuid,pid,process_name"
	appFields    = 3
)

// devices adds what is known of the devices that the server may use.
func (h *host) devices(ctx context.Context, s serverconf.Server, m *Machine) {
	rows, err := h.ask(ctx, deviceQuery)
	if err != nil {
		if !errors.Is(err, process.ErrNoGPUTool) {
			m.Notes = append(m.Notes, err.Error())
		}
		return
	}
	byUUID := map[string]Device{}
	var all []process.GPU
	for _, r := range rows {
		if len(r) != deviceFields {
			m.Notes = append(m.Notes, fmt.Sprintf("nvidia-smi gave %d fields: expected %d", len(r), deviceFields))
			return
		}
		index, err := strconv.Atoi(strings.TrimSpace(r[0]))
		if err != nil {
			m.Notes = append(m.Notes, fmt.Sprintf("nvidia-smi gave a device without a number: %q", r[0]))
			return
		}
		m.Driver = r[3]
		all = append(all, process.GPU{Index: index, UUID: r[1]})
		byUUID[r[1]] = Device{UUID: r[1], Name: r[2], SMMHz: known(r[4]), SMMaxMHz: known(r[5]), MemoryMHz: known(r[6]), TempC: known(r[7]), PowerW: known(r[8]),
			CapW: known(r[9]), UsedMiB: known(r[10])}
	}
	value, set := s.Env["CUDA_VISIBLE_DEVICES"]
	if v, ok := process.Variable(h.environ, "CUDA_VISIBLE_DEVICES"); ok && value == "" {
		value, set = v, true
	}
	for _, g := range process.Visible(all, value, set) {
		m.Devices = append(m.Devices, byUUID[g.UUID])
	}
	m.Devices = m.Devices[:min(len(m.Devices), s.Ranks())]
}

// known reads a number; what the driver does not know, "[N/A]", is nil.
func known(text string) *float64 {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return nil
	}
	return &v
}

// Strangers implements Host. In a container the driver names processes by numbers of the machine: where none of the server's own is among
// them, only their number tells.
func (h *host) Strangers(ctx context.Context, m Machine, own []int) []string {
	if len(m.Devices) == 0 {
		return nil
	}
	rows, err := h.ask(ctx, appQuery)
	if err != nil {
		return nil // the devices themselves were told of; that their users are not known is in the notes
	}
	var out []string
	seen := false
	for _, r := range rows {
		if len(r) != appFields || !slices.ContainsFunc(m.Devices, func(d Device) bool { return d.UUID == r[0] }) {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(r[1]))
		if err == nil && slices.Contains(own, pid) {
			seen = true
			continue
		}
		out = append(out, fmt.Sprintf("another process uses device %s: %s (%s)", r[0], r[1], r[2]))
	}
	if len(own) > 0 && !seen && len(out) <= len(m.Devices) {
		return nil
	}
	return out
}
