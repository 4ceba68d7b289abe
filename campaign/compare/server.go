package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"opprof/engine/record"
)

// headersKept bounds the headers of a run: one for each engine and restart.
const headersKept = 1024

func (r *Reading) addHeader(h *record.Header) {
	if len(r.headers) == headersKept {
		return
	}
	c := *h
	c.ContextEdges, c.ChunkEdges, c.ChunkTailEdges = nil, nil, nil
	r.headers = append(r.headers, &c)
}

// Difference is one thing in which the servers of two runs differ.
type Difference struct {
	What string `json:"what"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// fact is one thing that is known of a server; its value is "" when it is not.
type fact struct{ what, value string }

// facts are what the headers and the manifest say of the server. The headers stand first: the engine itself wrote them.
func (r *Reading) facts() []fact {
	var out []fact
	for _, f := range append(r.headerFacts(), r.manifestFacts()...) {
		i := slices.IndexFunc(out, func(o fact) bool { return o.what == f.what })
		switch {
		case i < 0:
			out = append(out, f)
		case out[i].value == "":
			out[i] = f
		}
	}
	return out
}

func (r *Reading) headerFacts() []fact {
	var out []fact
	for _, h := range r.headers {
		for _, f := range factsOf(h) {
			i := slices.IndexFunc(out, func(o fact) bool { return o.what == f.what })
			switch {
			case i < 0:
				out = append(out, f)
			case f.value == "" || slices.Contains(strings.Split(out[i].value, " and "), f.value):
			case out[i].value == "":
				out[i] = f
			default:
				out[i].value += " and " + f.value
			}
		}
	}
	return out
}

func factsOf(h *record.Header) []fact {
	return []fact{
		{"model", h.Model}, {"data type", h.DType}, {"quantization", h.Quantization}, {"tensor parallel", positive(h.TensorParallel)},
		{"data parallel", positive(h.DataParallel)}, {"pipeline parallel", positive(h.PipelineParallel)}, {"expert parallel", strconv.FormatBool(h.ExpertParallel)},
		{"CUDA graph mode", h.GraphMode}, {"vLLM", h.VLLMVersion}, {"torch", h.TorchVersion}, {"model runner", h.Runner},
		{"max batched tokens", positive(h.MaxNumBatchedTokens)}, {"max sequences", positive(h.MaxNumSeqs)},
		{"async scheduling", strconv.FormatBool(h.AsyncScheduling)}, {"prefix caching", strconv.FormatBool(h.PrefixCaching)},
		{"block size", positive(h.BlockSize)}, {"patch", h.PatchHash},
	}
}

func (r *Reading) manifestFacts() []fact {
	m := r.run.Manifest
	if m == nil {
		return nil
	}
	out := []fact{
		{"model", m.Model.Name}, {"model revision", m.Model.Revision}, {"data type", m.Model.DType}, {"quantization", m.Quantization},
		{"tensor parallel", positive(m.Parallel.TP)}, {"data parallel", positive(m.Parallel.DP)}, {"pipeline parallel", positive(m.Parallel.PP)},
		{"attention backend", m.Backends.Attention}, {"MoE backend", m.Backends.MoE},
	}
	for _, v := range []struct{ what, key string }{{"vLLM", "vllm"}, {"torch", "torch"}, {"CUDA", "cuda"}, {"driver", "driver"}, {"patch", "patch_hash"}} {
		out = append(out, fact{v.what, m.Versions[v.key]})
	}
	var names []string
	for _, g := range m.GPUs {
		names = append(names, g.Name)
	}
	slices.Sort(names)
	if len(names) > 0 {
		out = append(out, fact{"GPUs", fmt.Sprintf("%d: %s", len(names), strings.Join(slices.Compact(names), ", "))})
	}
	return out
}

func positive(n int64) string {
	if n <= 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// differences are the facts that are known of both servers and are not the same.
func differences(a, b *Reading) []Difference {
	out := []Difference{}
	theirs := b.facts()
	for _, f := range a.facts() {
		i := slices.IndexFunc(theirs, func(o fact) bool { return o.what == f.what })
		if i >= 0 && f.value != "" && theirs[i].value != "" && f.value != theirs[i].value {
			out = append(out, Difference{f.what, f.value, theirs[i].value})
		}
	}
	return out
}
