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

// Grammars of ranges that bound one iteration. vLLM's own carries the composition (vllm/v1/worker/gpu_worker.py, annotate_profile);
// ProfilerStep#N is torch's, present only with a schedule; the rest are of other servers and only bound.
var (
	vllmLabel     = regexp.MustCompile(`^execute_context_(\d+)\((\d+)\)_generation_(\d+)\((\d+)\)$`)
	vllmVariant   = regexp.MustCompile(`^execute_(\d+_)?context_\d+\(.*\)_generation_\d+\(.*\)$`)
	foreignLabel  = regexp.MustCompile(`^(step\[|prefill\[|decode\[|mixed\[)`)
	profilerLabel = regexp.MustCompile(`^ProfilerStep#?\s?(\d+)$`)
)

// ParseLabel reads a range's name. ok is false for ranges that do not bound an iteration of a server.
func ParseLabel(name string) (Label, bool) {
	if m := vllmLabel.FindStringSubmatch(name); m != nil {
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
	if vllmVariant.MatchString(name) || foreignLabel.MatchString(name) {
		return Label{Text: name}, true
	}
	return Label{}, false
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
