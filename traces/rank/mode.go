package rank

import (
	"fmt"
	"strings"

	"opprof/engine/unit"
	"opprof/traces/kineto"
)

// Mode is how a rank's kernels came to the device, as its trace shows it.
type Mode string

const (
	// ModeGraphs: at least a part was replayed from CUDA graphs.
	ModeGraphs Mode = "graphs"
	// ModeCompiled: no graph was replayed, but kernels of the compiler ran (cudagraph_mode=NONE). Its launches can be told apart one by one,
	// so it teaches the places of kernels whose names say nothing.
	ModeCompiled Mode = "compiled"
	// ModeEager: neither graphs nor compiled kernels (--enforce-eager). Its norms and activations are other kernels than those of a served model.
	ModeEager Mode = "eager"
	// ModeCPU: the trace holds no device work.
	ModeCPU Mode = "cpu"
)

// Bounds says what the iterations of a trace were cut at.
type Bounds string

const (
	BoundsServer  Bounds = "labels"         // the server's own ranges
	BoundsSteps   Bounds = "profiler_steps" // torch's step marks
	BoundsTwins   Bounds = "device_ranges"  // device-side twins of ranges that the trace does not hold
	BoundsNothing Bounds = "none"           // there are none: figures cover the whole window
)

func modeOf(t *kineto.Trace, b *Breakdown) Mode {
	switch {
	case t.Events.Len() == 0:
		return ModeCPU
	case b.GraphEvents > 0:
		return ModeGraphs
	}
	var compiled int64
	for _, k := range b.Kernel {
		if isCompiled(k.Name) {
			compiled += k.Use.Launches
		}
	}
	if compiled*compiledShare >= b.Kernels {
		return ModeCompiled
	}
	return ModeEager
}

// compiledShare is of how many kernels one must be the compiler's: an eager server still compiles a few functions of its own, such as the
// look-up of embeddings.
const compiledShare = 100

func isCompiled(name string) bool {
	for _, prefix := range []string{"triton_poi_", "triton_red_", "triton_per_", "triton_tem_", "triton_for_", "triton_spl_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Remarks are what a reader of the figures has to know about the trace, in sentences.
func (b *Breakdown) Remarks() []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if b.Mode == ModeCPU {
		say("a trace without device work (CPU only): %s, no kernels", unit.Counted(b.CPUOps, "operator"))
	}
	switch b.Bounds {
	case BoundsNothing:
		say("no iteration labels: the figures cover the whole window")
	case BoundsSteps:
		say("no labels of the server: iterations are the profiler's steps")
	case BoundsTwins:
		say("no labels on the CPU: iterations are cut at their device-side ranges")
	}
	if b.Mode == ModeEager {
		say("eager: neither CUDA graphs nor compiled kernels, so norms and activations are other kernels than a served model's")
	}
	if b.Unlaunched > 0 {
		say("%s without a launch in the trace: placed by the order of launches", unit.Counted(b.Unlaunched, "device event"))
	}
	if b.Suspect > 0 {
		say("%s with impossible times (%.3f ms in sum): in none of the figures", unit.Counted(b.Suspect, "device event"), float64(b.SuspectNS)/1e6)
	}
	if b.Faults > 0 {
		say("%s, the first at byte %d: %s", unit.Counted(b.Faults, "damaged place"), b.FirstFault.Offset, b.FirstFault.Reason)
	}
	if b.Truncated {
		say("the file is cut off")
	}
	if len(b.Devices) > 1 {
		say("work of %d devices in one file: busy time is the union over all of them", len(b.Devices))
	}
	return out
}
