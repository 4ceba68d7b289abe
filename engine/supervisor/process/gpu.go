package process

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// GPU is one device as the driver's tool reports it.
type GPU struct {
	Index     int
	UUID      string
	Name      string
	UsedMiB   int64
	TotalMiB  int64
	ClockMHz  int64   // largest clock of the multiprocessors; 0 unknown
	PowerCapW float64 // 0 unknown
}

// ErrNoGPUTool says that the machine has no nvidia-smi, so that nothing is known about its devices.
var ErrNoGPUTool = errors.New("nvidia-smi is not installed")

// gpuTimeout bounds a question to the driver: it hangs when a device does.
const gpuTimeout = 20 * time.Second

// GPUs asks the driver about all devices.
func GPUs(ctx context.Context) ([]GPU, error) {
	text, err := askGPU(ctx, "--query-gpu=index,uuid,name,memory.used,memory.total,clocks.max.sm,power.limit")
	if err != nil {
		return nil, err
	}
	return parseGPUs(text)
}

func askGPU(ctx context.Context, query string) (string, error) {
	path, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return "", ErrNoGPUTool
	}
	ctx, cancel := context.WithTimeout(ctx, gpuTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, query, "--format=csv,noheader,nounits")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("cannot ask nvidia-smi: %w", err)
	}
	return string(out), nil
}

// parseGPUs reads one device a line. A value that the driver does not know, "[N/A]", is 0.
func parseGPUs(text string) ([]GPU, error) {
	in := csv.NewReader(strings.NewReader(text))
	in.TrimLeadingSpace, in.FieldsPerRecord = true, 7
	rows, err := in.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("cannot read the answer of nvidia-smi: %w", err)
	}
	var out []GPU
	for _, r := range rows {
		g := GPU{UUID: r[1], Name: r[2], UsedMiB: whole(r[3]), TotalMiB: whole(r[4]), ClockMHz: whole(r[5])}
		if g.Index, err = strconv.Atoi(r[0]); err != nil {
			return nil, fmt.Errorf("cannot read the answer of nvidia-smi: device %q has no number", r[0])
		}
		if w, err := strconv.ParseFloat(strings.TrimSpace(r[6]), 64); err == nil {
			g.PowerCapW = w
		}
		out = append(out, g)
	}
	return out, nil
}

func whole(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Visible are the devices that a value of CUDA_VISIBLE_DEVICES lets a program use, in its order: numbers or the beginnings of UUIDs, and
// as CUDA does, nothing behind the first that names no device. unset is the value of a variable that is not set: all.
func Visible(all []GPU, value string, set bool) []GPU {
	if !set {
		return all
	}
	var out []GPU
	for name := range strings.SplitSeq(value, ",") {
		name = strings.TrimSpace(name)
		found := false
		for _, g := range all {
			if name != "" && (strconv.Itoa(g.Index) == name || strings.HasPrefix(name, "GPU-") && strings.HasPrefix(g.UUID, name)) {
				out, found = append(out, g), true
				break
			}
		}
		if !found {
			break
		}
	}
	return out
}
