package llmd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"opprof/campaign/bench"
	"opprof/engine/rundir"
)

// Input is what a report is made of.
type Input struct {
	Campaign string // "" for a run of its own
	Run      string
	Path     string
	Manifest *rundir.Manifest // nil when there is none
	About    rundir.Description
	Result   *bench.Result // nil for a run without a load generator's results
	Stage    int64         // number of the result among the run's, from 0
	Steps    *Steps
}

// componentLabel names the server in a report.
const componentLabel = "vllm"

// metadataVersion is the format's own for components.
const metadataVersion = "0.0.1"

// unsaid stands where the format wants words that nobody knows.
const unsaid = "unknown"

// Build makes the report of a run under one load.
func Build(in Input) Report {
	if in.Steps != nil {
		in.Steps.describe(&in.About)
	}
	r := Report{Version: Version, Run: Run{UID: uid(in), EID: in.Campaign, Description: "opprof run " + in.Run, Keywords: []string{"opprof"}, Time: times(in.Steps)}}
	stack, load := stack(in), load(in.Result, in.Stage)
	if stack != nil || load != nil {
		r.Scenario = &Scenario{Stack: stack, Load: load}
	}
	if in.Result != nil {
		r.Results.RequestPerformance = performance(in.Result)
	}
	if in.Steps != nil && in.Steps.counts.Steps > 0 {
		r.Results.Observability = &Observability{Components: []Observed{{Label: componentLabel, Aggregate: in.Steps.resources()}}}
		r.Results.Profiling = in.Steps.profiling(in.Path)
	}
	return r
}

// uid is the same for the same run and load, and another for any other: a UUID of version 8.
func uid(in Input) string {
	key := []string{in.Campaign, in.Run, strconv.FormatInt(in.Stage, 10)}
	if in.Steps != nil {
		key = append(key, time.Unix(0, in.Steps.counts.FirstNS).UTC().Format(time.RFC3339Nano))
	}
	sum := sha256.Sum256([]byte(strings.Join(key, "\x00")))
	b := sum[:16]
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func times(s *Steps) *Time {
	if s == nil || s.counts.Steps == 0 {
		return nil
	}
	first, last := time.Unix(0, s.counts.FirstNS).UTC(), time.Unix(0, s.counts.LastNS).UTC()
	return &Time{Start: first.Format(time.RFC3339Nano), End: last.Format(time.RFC3339Nano), Duration: isoDuration(s.counts.LastNS - s.counts.FirstNS)}
}

// isoDuration prints nanoseconds as ISO 8601 does.
func isoDuration(ns int64) string {
	return "PT" + strconv.FormatFloat(time.Duration(ns).Seconds(), 'f', -1, 64) + "S"
}

// stack is the server; nil where it is not known what it ran on.
func stack(in Input) []Component {
	d := &in.About
	count := max(d.TensorParallel, 1) * max(d.PipeParallel, 1) * max(d.DataParallel, 1) * min(d.TensorParallel, 1)
	device, argv, env := unsaid, []string(nil), map[string]string(nil)
	if m := in.Manifest; m != nil {
		argv, env = m.Argv, m.Env
		if len(m.GPUs) > 0 {
			device, count = m.GPUs[0].Name, int64(len(m.GPUs))
		}
	}
	if count == 0 || d.Model == "" {
		return nil
	}
	c := Component{Metadata: Metadata{SchemaVersion: metadataVersion, Label: componentLabel, CfgID: hash(d.Model, d.VLLMVersion, argv, env)},
		Standardized: Engine{Kind: "inference_engine", Tool: "vllm", ToolVersion: or(d.VLLMVersion), Role: "replica", Replicas: 1, Model: Name{d.Model},
			Accelerator: Accelerator{Model: device, Count: count, Parallelism: Parallelism{TP: d.TensorParallel, DP: d.DataParallel, PP: d.PipeParallel}}},
		Native: Native{Envars: env}}
	if d.ExpertParallel {
		c.Standardized.Accelerator.Parallelism.EP = max(d.TensorParallel, 1) * max(d.DataParallel, 1)
	}
	if len(argv) > 0 {
		c.Native.Args = map[string]any{"argv": argv}
	}
	return []Component{c}
}

func or(s string) string {
	if s == "" {
		return unsaid
	}
	return s
}

// hash tells configurations apart.
func hash(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// load is the load generator; nil where the lengths of its requests are not known.
func load(r *bench.Result, stage int64) *Load {
	if r == nil || r.InputTokens == nil || r.Completed == nil || *r.Completed == 0 {
		return nil
	}
	w := Workload{Tool: r.Generator, ToolVersion: or(r.Version), Source: unsaid, Stage: stage, InputSeqLen: length(r, *r.InputTokens, func(q *bench.Request) int64 { return q.InputTokens }),
		RateQPS: field(r, "request_rate"), Concurrency: field(r, "max_concurrency")}
	if r.OutputTokens != nil {
		l := length(r, *r.OutputTokens, func(q *bench.Request) int64 { return q.OutputTokens })
		w.OutputSeqLen = &l
	}
	if w.Concurrency != nil && *w.Concurrency < 1 {
		w.Concurrency = nil
	}
	return &Load{Metadata: Metadata{SchemaVersion: metadataVersion}, Standardized: w}
}

func field(r *bench.Result, name string) *float64 {
	if v, ok := r.Field(name); ok {
		return &v
	}
	return nil
}

// length is what the finished requests had.
func length(r *bench.Result, total int64, of func(*bench.Request) int64) Length {
	l := Length{Distribution: "other", Value: float64(total) / float64(*r.Completed)}
	for i := range r.Requests {
		q := &r.Requests[i]
		if q.Error != "" {
			continue
		}
		v := of(q)
		if l.Min == nil || v < *l.Min {
			l.Min = &v
		}
		if l.Max == nil || v > *l.Max {
			l.Max = &v
		}
	}
	return l
}
