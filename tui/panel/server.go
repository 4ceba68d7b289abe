package panel

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"opprof/engine/audit"
	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
	"opprof/tui/theme"
)

// Server is what the server page knows. Parts that are not known yet are nil.
type Server struct {
	Run      rundir.Description
	Contents *rundir.Contents
	Frame    *store.Frame // over the whole run, all engines
	Audit    []audit.Row  // nil when the run has no snapshot of /metrics
	Server   *Supervised  // nil without a supervisor
	Zone     *time.Location
}

// RunRows tell what was run: the manifest, the engines as their records describe them, what the recorder cost, and the configuration.
func RunRows(s *Server) []Row {
	rows := append(SupervisedRows(s.Server), Row{Heading: "run"}, Row{Name: "id", Value: s.Run.ID}, Row{Name: "path", Value: s.Run.Path}, Row{Name: "kind", Value: s.Run.State(func(ns int64) string { return unit.Date(ns, s.Zone) })})
	if s.Contents != nil && s.Contents.Manifest != nil {
		rows = append(rows, manifestRows(s.Contents.Manifest)...)
	} else if s.Contents != nil {
		rows = append(rows, Row{Name: "manifest", Value: "none: not started by opprof launch", Role: theme.RoleDim})
	}
	if s.Frame != nil {
		for i := range s.Frame.Engines {
			rows = append(rows, engineRows(&s.Frame.Engines[i], s.Zone)...)
		}
	}
	if s.Contents != nil && s.Contents.Config != "" {
		rows = append(rows, Row{}, Row{Heading: "configuration  " + rundir.ConfigName})
		for _, l := range strings.Split(strings.TrimRight(s.Contents.Config, "\n"), "\n") {
			rows = append(rows, Row{Name: l})
		}
	}
	return append(rows, problemRows(s)...)
}

func problemRows(s *Server) []Row {
	problems := slices.Clone(s.Run.Problems)
	if s.Contents != nil {
		for _, p := range s.Contents.Problems {
			if !slices.Contains(problems, p) {
				problems = append(problems, p)
			}
		}
	}
	if len(problems) == 0 {
		return nil
	}
	rows := []Row{{}, {Heading: "problems"}}
	for i, p := range problems {
		rows = append(rows, Row{Name: strconv.Itoa(i + 1), Value: p, Role: theme.RoleWarn})
	}
	return rows
}

func manifestRows(m *rundir.Manifest) []Row {
	rows := []Row{
		{Name: "model", Value: said(m.Model.Name)}, {Name: "model path", Value: said(m.Model.Path)}, {Name: "revision", Value: said(m.Model.Revision)},
		{Name: "type of weights", Value: said(m.Model.DType)}, {Name: "quantization", Value: said(m.Quantization)},
		{Name: "longest model input", Value: unit.Known(m.Model.MaxModelLen, func(n int64) string { return unit.Counted(n, "token") })},
		{Name: "attention backend", Value: said(m.Backends.Attention)}, {Name: "MoE backend", Value: said(m.Backends.MoE)},
	}
	if m.BytesPerStep != nil {
		rows = append(rows, Row{Name: "Layer-1 bytes a step", Value: unit.Number(*m.BytesPerStep)})
	}
	if m.Cache.CompileS != nil {
		rows = append(rows, Row{Name: "compilation", Value: unit.Number(*m.Cache.CompileS), Remark: "s"})
	}
	end := Row{Name: "end", Value: "still running, or not written down"}
	if m.Exit != nil {
		end.Value = m.Exit.String()
	}
	rows = append(rows, end)
	for _, g := range m.GPUs {
		rows = append(rows, Row{Name: "GPU", Value: g.Name + "  " + g.UUID})
	}
	rows = append(rows, named("versions", m.Versions)...)
	rows = append(rows, Row{}, Row{Heading: "command"}, Row{Name: "argv", Value: said(strings.Join(m.Argv, " "))})
	return append(rows, named("environment that was recorded", m.Env)...)
}

func said(s string) string {
	if s == "" {
		return unit.Unknown
	}
	return s
}

// named lists a map by name.
func named(heading string, values map[string]string) []Row {
	rows := []Row{{}, {Heading: heading}}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		rows = append(rows, Row{Name: name, Value: said(values[name])})
	}
	if len(values) == 0 {
		rows = append(rows, Row{Name: "nothing"})
	}
	return rows
}

// engineRows tell what an engine's records say about it, first line to last.
func engineRows(e *store.Engine, zone *time.Location) []Row {
	rows := []Row{{}, {Heading: "engine " + e.ID}, {Name: "steps", Value: unit.Count(e.Steps), Remark: unit.Count(e.FirstStep) + " to " + unit.Count(e.LastStep)}}
	if h := e.Header; h != nil {
		rows = append(rows,
			Row{Name: "recorder started", Value: unit.Date(h.StartWallNS, zone)},
			Row{Name: "vLLM, torch", Value: said(h.VLLMVersion) + ", " + said(h.TorchVersion)},
			Row{Name: "model", Value: said(h.Model), Remark: strings.TrimSpace(h.DType + " " + h.Quantization)},
			Row{Name: "parallel sizes", Value: "TP " + unit.Count(h.TensorParallel) + "  DP " + unit.Count(h.DataParallel) + "  PP " + unit.Count(h.PipelineParallel),
				Remark: onOff("expert parallel", h.ExpertParallel)},
			Row{Name: "step limits", Value: unit.Count(h.MaxNumBatchedTokens) + " tokens, " + unit.Count(h.MaxNumSeqs) + " requests"},
			Row{Name: "scheduling", Value: onOff("asynchronous", h.AsyncScheduling)},
			Row{Name: "prefix caching", Value: onOff("", h.PrefixCaching), Remark: "blocks of " + unit.Count(h.BlockSize) + " tokens"},
			Row{Name: "CUDA graphs", Value: said(h.GraphMode), Remark: h.GraphNullReason},
			Row{Name: "model runner", Value: said(h.Runner)},
			Row{Name: "patch", Value: said(h.PatchHash)})
	} else {
		rows = append(rows, Row{Name: "header", Value: "none: what the engine was started with is not known", Role: theme.RoleWarn})
	}
	return append(rows, recorderRows(e, zone)...)
}

// recorderRows tell what the recorder cost and lost.
func recorderRows(e *store.Engine, zone *time.Location) []Row {
	f := e.Footer
	if f == nil {
		return []Row{{Name: "recorder", Value: "no footer: still running, or killed"}, {Name: "records dropped", Value: unit.Count(e.Loss.Dropped), Role: lossRole(e.Loss.Dropped)}}
	}
	cost := unit.Unknown
	if c := f.ForegroundNS; c.N > 0 {
		cost = "p50 " + unit.Duration(c.P50) + "  p95 " + unit.Duration(c.P95) + "  p99 " + unit.Duration(c.P99) + "  max " + unit.Duration(c.Max)
	}
	return []Row{
		{Name: "recorder's cost a step", Value: cost},
		{Name: "records written", Value: unit.Count(f.Written), Remark: "of " + unit.Count(f.Encoded)},
		{Name: "records dropped", Value: unit.Count(f.Dropped), Role: lossRole(f.Dropped)},
		{Name: "queue at most", Value: unit.Count(f.QueueHighWatermark), Remark: "of 8,192 records"},
		{Name: "recorder ended", Value: unit.Date(f.EndWallNS, zone)},
	}
}

func lossRole(n int64) theme.Role {
	if n > 0 {
		return theme.RoleWarn
	}
	return theme.RoleText
}

func onOff(what string, on bool) string {
	s := "off"
	if on {
		s = "on"
	}
	return strings.TrimSpace(what + " " + s)
}

// FileRows list the files of a run with their sizes.
func FileRows(c *rundir.Contents, zone *time.Location) []Row {
	if c == nil {
		return []Row{{Name: "looking"}}
	}
	var rows []Row
	for _, f := range c.Files {
		rows = append(rows, Row{Name: unit.Right(unit.Bytes(f.Bytes), 8), Value: f.Path, Remark: unit.Date(f.ModNS, zone)})
	}
	if len(c.Files) == 0 {
		rows = append(rows, Row{Name: "none"})
	}
	if c.More > 0 {
		rows = append(rows, Row{Name: "and " + unit.Count(c.More) + " more"})
	}
	return rows
}

// AuditHeight is the number of lines of the table of figures with its heading.
func AuditHeight(s *Server) int { return len(s.Audit) + 1 }

// DrawAudit draws the figures of Layer 1 beside those of the server.
func DrawAudit(g *chart.Grid, s *Server) {
	if s.Audit == nil {
		note(g, 0, "no "+rundir.MetricsName+" in the run's folder")
		return
	}
	columns := []tableColumn{{}, {head: "figure"}, {head: "Layer 1", right: true}, {head: "server", right: true}, {head: "verdict"}, {head: "share", right: true}, {head: "unit"}, {head: "metric of the server"}}
	rows := make([][]cell, len(s.Audit))
	for i := range s.Audit {
		r := &s.Audit[i]
		mark, role := VerdictMark(g.Glyphs, r.Verdict)
		rows[i] = []cell{
			{string(mark), role}, {r.Name, theme.RoleText}, {figure(r.Layer1), theme.RoleText}, {figure(r.Server), theme.RoleText},
			{r.Verdict.String(), role}, {shareOf(r), theme.RoleDim}, {r.Unit, theme.RoleDim}, {r.Metric, theme.RoleDim},
		}
	}
	table(g, columns, rows, "")
}

// AuditReasons say why figures are not the same, each reason once with the figures that it holds for.
func AuditReasons(s *Server) []Row {
	var rows []Row
	names := map[string][]string{} // by reason
	for i := range s.Audit {
		if r := &s.Audit[i]; r.Why != "" {
			names[r.Why] = append(names[r.Why], r.Name)
		}
	}
	for i := range s.Audit {
		r := &s.Audit[i]
		if len(names[r.Why]) == 0 || names[r.Why][0] != r.Name {
			continue
		}
		row := Row{Name: r.Verdict.String(), Value: strings.Join(names[r.Why], ", ") + ": " + r.Why}
		if r.Verdict == audit.Differs {
			row.Role = theme.RoleBad // the mark in the table is loud enough for all others
		}
		rows = append(rows, row)
	}
	return rows
}

func shareOf(r *audit.Row) string {
	if share, ok := r.Share(); ok {
		return unit.Percent(share)
	}
	return unit.Unknown
}

func figure(v *float64) string {
	if v == nil {
		return unit.Unknown
	}
	return unit.Count(int64(*v))
}

// VerdictMark is the mark of a verdict and its role; the word stands beside it.
func VerdictMark(gl theme.Glyphs, v audit.Verdict) (rune, theme.Role) {
	switch v {
	case audit.Same, audit.Near:
		return gl.Check, theme.RoleGood
	case audit.Explained:
		return gl.Triangle, theme.RoleWarn
	case audit.Differs:
		return gl.Cross, theme.RoleBad
	}
	return '-', theme.RoleDim
}

// ServerDefinitions say what the server page shows.
func ServerDefinitions() []Definition {
	return []Definition{
		{Panel: PageServer, Name: "Layer 1, server", Unit: "as the row says", Source: "sums of all records; metrics.txt", Text: "Two counts of the same thing: the sums of the records that were read, and the counters that the server keeps itself, as they were when /metrics was saved."},
		{Panel: PageServer, Name: "verdict", Unit: "", Source: "", Text: "same: equal. near: as near as the two can be, with the reason below. explained: the records lack steps, and show where, or have some that came after the snapshot. differs: no reason is in the records; the snapshot may be of another moment than the last step. unknown: one of the two does not tell."},
		{Panel: PageServer, Name: "generated tokens", Unit: "tokens", Source: "decode_tokens - recompute_tokens + chunks final + unsplit; vllm:generation_tokens_total", Text: "Each decode token that is not computed again gives one token, and so does the end of each prompt."},
		{Panel: PageServer, Name: "steps that ran the model", Unit: "steps", Source: "model_executed; vllm:iteration_tokens_total_count", Text: "The server observes its iterations only where tokens were scheduled."},
		{Panel: PageServer, Name: "recorder's cost", Unit: "us a step", Source: "foreground_ns of the footer", Text: "Time that the recorder took in the thread that schedules, by nearest rank over all steps."},
		{Panel: PageServer, Name: "files", Unit: "bytes", Source: "the run's folder", Text: "Files up to three folders down, with when they were last written."},
	}
}
