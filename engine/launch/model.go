package launch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"opprof/engine/serverconf"
	"opprof/engine/supervisor/process"
	"opprof/engine/unit"
)

// checkModel looks for the model's files and gives the bytes of its weights, 0 when unknown.
func checkModel(r *Report, m Machine, s serverconf.Server) int64 {
	dir, isPath := modelDir(m, s.Model)
	switch {
	case isPath:
		if err := checkModelDir(dir); err != nil {
			r.problem("model %s: %v", s.Model, err)
			return 0
		}
	case dir == "" && last(m.Environ, "HF_HUB_OFFLINE") == "1":
		r.problem("model %s: it is not in the local cache and HF_HUB_OFFLINE is set", s.Model)
		return 0
	case dir == "":
		r.note("model %s is not in the local cache: the server will download it", s.Model)
		return 0
	}
	if slices.Contains(s.Args, "dummy") || slices.Contains(s.Args, "--load-format=dummy") {
		return 0
	}
	weights := weightBytes(dir)
	if weights == 0 {
		r.problem("model %s: no weights (*.safetensors, *.bin) in %s; --load-format dummy makes random ones", s.Model, dir)
	}
	return weights
}

// checkModelDir says what a folder lacks that vLLM would look for at once.
func checkModelDir(dir string) error {
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("it does not exist: expected a folder with config.json")
	case err != nil:
		return err
	case !st.IsDir():
		return errors.New("it is not a folder: expected one with config.json")
	}
	switch st, err := os.Stat(filepath.Join(dir, "config.json")); {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("the folder has no config.json: it is no model, or not a whole one")
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return errors.New("its config.json is not a file")
	}
	return nil
}

// modelDir is where a model's files lie: the folder itself, or the newest snapshot in the local cache of the hub; "" when it is not there.
func modelDir(m Machine, model string) (dir string, isPath bool) {
	if filepath.IsAbs(model) || strings.HasPrefix(model, ".") {
		return model, true
	}
	if st, err := os.Stat(model); err == nil && st.IsDir() {
		return model, true
	}
	home := last(m.Environ, "HF_HOME")
	if home == "" {
		home = filepath.Join(last(m.Environ, "HOME"), ".cache", "huggingface")
	}
	found, err := filepath.Glob(filepath.Join(home, "hub", "models--"+strings.ReplaceAll(model, "/", "--"), "snapshots", "*", "config.json"))
	if err != nil || len(found) == 0 {
		return "", false
	}
	return filepath.Dir(found[len(found)-1]), false
}

// weightBytes adds up weight files; an index names those of a sharded model, but the files themselves are what is loaded.
func weightBytes(dir string) (sum int64) {
	for _, pattern := range []string{"*.safetensors", "*.bin", "*.gguf"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			continue
		}
		for _, path := range found {
			if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
				sum += st.Size()
			}
		}
		if sum > 0 {
			return sum
		}
	}
	return 0
}

const (
	// busyMiB is what may be in use on a device that counts as free.
	busyMiB = 1024
	// defaultUtilization is vLLM's share of a device when nothing else is said (--gpu-memory-utilization).
	defaultUtilization = 0.92
)

// checkGPUs compares devices with what the server will need.
func checkGPUs(ctx context.Context, r *Report, m Machine, s serverconf.Server, weights int64) {
	all, err := m.GPUs(ctx)
	if errors.Is(err, process.ErrNoGPUTool) {
		r.note("%v: nothing is known about the devices, and that their memory comes back cannot be checked", err)
		return
	}
	if err != nil {
		r.problem("%v", err)
		return
	}
	value, set := s.Env["CUDA_VISIBLE_DEVICES"]
	if !set {
		value, set = process.Variable(m.Environ, "CUDA_VISIBLE_DEVICES")
	}
	devices := process.Visible(all, value, set)
	if len(devices) < s.Ranks() {
		r.problem("%s visible, and the server needs %d (tensor %d x pipeline %d x data %d)", unit.Counted(len(devices), "device"), s.Ranks(), s.TensorParallel, s.PipelineParallel, s.DataParallel)
		return
	}
	for _, g := range devices[:s.Ranks()] {
		if g.UsedMiB > busyMiB {
			r.problem("GPU %d (%s) is not free: %d of %d MiB are in use; nvidia-smi says by whom", g.Index, g.Name, g.UsedMiB, g.TotalMiB)
		}
	}
	share := utilization(s.Args)
	perRank := weights / int64(s.TensorParallel*s.PipelineParallel)
	if g := devices[0]; weights > 0 && g.TotalMiB > 0 {
		budget := int64(share * float64(g.TotalMiB))
		if perRank>>20 > budget {
			r.problem("the weights need %d MiB on each device and vLLM may use %d of %d MiB: raise tensor_parallel or --gpu-memory-utilization", perRank>>20, budget, g.TotalMiB)
			return
		}
		r.note("memory estimate: weights %d MiB of %d MiB on each device, which leaves %d MiB for the KV cache and activations", perRank>>20, budget, budget-perRank>>20)
	}
}

func utilization(args []string) float64 {
	for i, arg := range args {
		if flagName(arg) != "--gpu-memory-utilization" {
			continue
		}
		_, text, inline := strings.Cut(arg, "=")
		if !inline && i+1 < len(args) {
			text = args[i+1]
		}
		if v, err := strconv.ParseFloat(text, 64); err == nil && v > 0 && v <= 1 {
			return v
		}
	}
	return defaultUtilization
}
