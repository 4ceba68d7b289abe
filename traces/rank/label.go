package rank

import (
	"regexp"
	"strconv"
)

// Label is what an iteration's range says it ran: requests and tokens of both phases. Known is false for a range of another grammar,
// which still bounds an iteration.
type Label struct {
	Text            string
	Known           bool
	PrefillRequests int64
	PrefillTokens   int64
	DecodeRequests  int64
	DecodeTokens    int64
}

// Grammars of ranges that bound one iteration. vLLM's carries the composition (vllm/v1/worker/gpu_worker.py, annotate_profile); builds of others
// put a total before it, and sums of query and key lengths behind the tokens: execute_32_context_0(sq0sk0)_generation_32(sq32sk55086), or
// (888_788544). ProfilerStep#N is torch's, present only with a schedule. The rest are of other servers and only bound.
var (
	vllmLabel     = regexp.MustCompile(`^execute_(?:\d+_)?context_(\d+)\((?:sq)?(\d+)(?:(?:sk|_)[^()]*)?\)_generation_(\d+)\((?:sq)?(\d+)(?:(?:sk|_)[^()]*)?\)$`)
	vllmVariant   = regexp.MustCompile(`^execute_(?:\d+_)?context_.*_generation_`)
	foreignLabel  = regexp.MustCompile(`^(step|prefill|decode|mixed|extend)\[`)
	profilerLabel = regexp.MustCompile(`^ProfilerStep#?\s?(\d+)$`)
)

// ParseLabel reads a range's name. ok is false for ranges that do not bound an iteration of a server.
func ParseLabel(name string) (Label, bool) {
	m := vllmLabel.FindStringSubmatch(name)
	if m == nil {
		return Label{Text: name}, vllmVariant.MatchString(name) || foreignLabel.MatchString(name)
	}
	var v [4]int64
	for i := range v {
		n, err := strconv.ParseInt(m[i+1], 10, 64)
		if err != nil {
			return Label{Text: name}, true
		}
		v[i] = n
	}
	return Label{Text: name, Known: true, PrefillRequests: v[0], PrefillTokens: v[1], DecodeRequests: v[2], DecodeTokens: v[3]}, true
}

// isProfilerStep reports whether a range is torch's own step mark, used where a trace has no server's labels.
func isProfilerStep(name string) bool { return profilerLabel.MatchString(name) }

// stepNumber is the number in torch's step mark; -1 when it is out of range.
func stepNumber(name string) int64 {
	m := profilerLabel.FindStringSubmatch(name)
	if m == nil {
		return -1
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return -1
	}
	return n
}
