package supervisor

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

	"opprof/engine/control"
	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/supervisor/process"
)

// papers is the manifest and whether it is to be written.
type papers struct {
	manifest rundir.Manifest
	dirty    bool
	writing  bool
}

func (p *papers) pending() bool { return p.dirty || p.writing }

// writeManifest writes the manifest beside the loop, one write at a time.
func (s *Supervisor) writeManifest() {
	if s.config.Watched != nil { // the folder is somebody else's, and so is what is known of the run
		s.papers.dirty = false
	}
	if !s.papers.dirty || s.papers.writing {
		return
	}
	m, dir, steps := s.manifest(), s.config.Dir, s.engines.steps()
	s.papers.dirty, s.papers.writing = false, true
	s.do(func(context.Context) func() {
		if m.Exit != nil && steps > 0 {
			perStep := float64(s.streamBytes()) / float64(steps)
			m.BytesPerStep = &perStep
		}
		err := rundir.WriteManifest(dir, &m)
		return func() {
			s.papers.writing = false
			if err != nil {
				s.remark("%v", err)
			}
		}
	})
}

// streamBytes are the sizes of all Layer-1 files together.
func (s *Supervisor) streamBytes() (sum int64) {
	paths, err := s.streams()
	if err != nil {
		return 0
	}
	for _, path := range paths {
		if st, err := os.Stat(path); err == nil {
			sum += st.Size()
		}
	}
	return sum
}

// manifest is what is known now. The maps of the configuration are shared and never written to.
func (s *Supervisor) manifest() rundir.Manifest {
	m := s.papers.manifest
	m.Schema, m.ID = rundir.ManifestSchema, s.config.ID
	m.Versions = map[string]string{}
	for name, v := range s.papers.manifest.Versions {
		m.Versions[name] = v
	}
	fillHeader(&m, s.engines.header)
	m.Backends = rundir.Backends{MoE: s.start.fact("MoE backend"), Attention: s.start.fact("attention backend"), Lines: []string{}}
	for _, f := range s.start.startup.Facts() {
		m.Backends.Lines = append(m.Backends.Lines, f.Name+": "+f.Value)
	}
	if text, _, ok := strings.Cut(s.start.fact("compilation"), " "); ok {
		if seconds, err := strconv.ParseFloat(text, 64); err == nil {
			m.Cache.CompileS = &seconds
		}
	}
	m.Windows = []rundir.ManifestWindow{}
	for _, w := range s.windows.controller.Windows() {
		m.Windows = append(m.Windows, rundir.ManifestWindow{N: int64(w.N), State: w.State, Reason: w.Reason})
	}
	return m
}

// fillHeader adds what an engine said about itself. What it does not say stays as it was.
func fillHeader(m *rundir.Manifest, h record.Header) {
	if h.EngineID == "" {
		return
	}
	for name, v := range map[string]string{"vllm": h.VLLMVersion, "torch": h.TorchVersion, "patch_hash": h.PatchHash} {
		if v != "" {
			m.Versions[name] = v
		}
	}
	m.Model.DType = h.DType
	m.Quantization = h.Quantization
	m.Parallel = rundir.Parallel{TP: h.TensorParallel, DP: h.DataParallel, PP: h.PipelineParallel, EP: h.ExpertParallel}
	prefix := h.PrefixCaching
	m.Cache.Prefix = &prefix
}

// tookGPUs keeps what the devices were before the server used them. A machine without the driver's tool has none to check.
func (s *Supervisor) tookGPUs(all []process.GPU, err error) {
	if err != nil {
		if !errors.Is(err, process.ErrNoGPUTool) {
			s.remark("%v", err)
		}
		return
	}
	value, set := process.Variable(s.config.Command.Env, "CUDA_VISIBLE_DEVICES")
	s.server.baseline = process.Visible(all, value, set)
	s.papers.manifest.GPUs = nil
	for _, g := range s.server.baseline {
		one := rundir.GPU{UUID: g.UUID, Name: g.Name, Clocks: map[string]int64{}}
		if g.ClockMHz > 0 {
			one.Clocks["sm_max"] = g.ClockMHz
		}
		if g.PowerCapW > 0 {
			one.PowerCap = &g.PowerCapW
		}
		s.papers.manifest.GPUs = append(s.papers.manifest.GPUs, one)
	}
	s.papers.dirty = true
}

// status answers GET /v1/status.
func (s *Supervisor) status() control.Status {
	out := control.Status{Schema: 1, API: control.API, Run: s.config.ID, Path: s.config.Dir, State: s.view.state, SinceNS: s.view.sinceNS,
		Phase: phaseOf(s.start.phase), Reason: s.view.reason, Engines: s.engines.status(), Windows: []control.Window{},
		Server:  control.Server{PID: s.server.pid, Addr: s.config.Address.String(), Profile: s.mounted, Watched: s.server.watched},
		Clients: s.clients.holding(), OnHangup: s.config.OnHangup, LastSeq: s.ledger.lastSeq, JournalOK: s.ledger.failed == nil,
		Remarks: append([]string{}, s.view.remarks...)}
	if !s.server.running() {
		out.Server.PID = 0
	}
	if s.ledger.failed != nil {
		out.Remarks = append(out.Remarks, s.ledger.failed.Error())
	}
	for _, w := range s.windows.controller.Windows() {
		out.Windows = append(out.Windows, w.Window)
	}
	out.Cost = control.Cost{Ranks: s.engines.ranks, NeedBytes: s.windows.expected(s.engines.ranks), StallNS: s.windows.stallNS,
		Steps: s.windows.settings.MaxIterations, LagNS: flushLagNS}
	return out
}

// flushLagNS is how old a record may be when it is read: the recorder writes at least so often.
const flushLagNS = 250_000_000
