package compare

import (
	"cmp"
	"fmt"
	"math/bits"
	"strings"

	"opprof/campaign/calibrate"
	"opprof/engine/record"
	"opprof/engine/unit"
)

// Key names the cell of a step: what it held, as far as its time depends on it. Bins of counts are 0, 1, 2, 3-4, 5-8 and so on.
type Key struct {
	Graph   record.GraphMode
	Decode  int8  // bin of the decode requests
	Prefill int8  // bin of the prefill tokens
	Context int8  // bin of the median context length of its requests; -1 when it does not tell
	Bucket  int64 // tokens that the graph was captured for; 0 where none ran
	Beside  beside
}

// beside says what the neighbours of a step were, as far as that moves time between them: with two batches in flight, a long launch of the
// next step delays the completion of this one, and a step behind a launch or an idle server waits for what others do not.
type beside uint8

const (
	eagerBefore beside = 1 << iota // the step before ran without a CUDA graph
	eagerAfter                     // the step behind it did
	idleBefore                     // the step before held nothing
)

// String names what is unusual about the neighbours; "" for none.
func (b beside) String() string {
	var parts []string
	if b&(eagerBefore|eagerAfter) == eagerBefore|eagerAfter {
		b &^= eagerBefore | eagerAfter
		parts = append(parts, "eager both")
	}
	for i, name := range []string{"eager before", "eager after", "idle before"} {
		if b&(1<<i) != 0 {
			parts = append(parts, name)
		}
	}
	return strings.Join(parts, ", ")
}

// keyOf is the cell of a step that has tokens.
func keyOf(s *record.Step) Key {
	k := Key{Decode: int8(binOf(s.DecodeBatchSize)), Prefill: int8(binOf(s.PrefillTokens)), Context: int8(medianBin(&s.ContextHist))}
	if s.Known(record.HasGraph) {
		k.Graph = s.Graph.Mode
		if k.Graph != record.GraphNone {
			k.Bucket = s.Graph.BucketTokens
		}
	}
	return k
}

// keyOfSample is the cell of a step that a profiler window holds.
func keyOfSample(c *calibrate.Composition) Key {
	k := Key{Decode: int8(binOf(int64(c.Decode))), Prefill: int8(binOf(int64(c.Prefill))), Context: int8(c.ContextMedian)}
	for m := range record.GraphModes {
		if m.String() == c.Graph {
			k.Graph = m
		}
	}
	if k.Graph != record.GraphNone {
		k.Bucket = int64(c.Bucket)
	}
	return k
}

// binOf is the bin of a count, whose upper edge is a power of two.
func binOf(n int64) int {
	if n <= 0 {
		return 0
	}
	return bits.Len64(uint64(n-1)) + 1
}

// binName is a bin as it is read.
func binName(bin int) string {
	if bin < 2 {
		return fmt.Sprint(bin)
	}
	high := uint64(1) << (bin - 1)
	if low := high/2 + 1; low < high {
		return fmt.Sprintf("%d-%d", low, high)
	}
	return fmt.Sprint(high)
}

// medianBin is the bin in which half of the requests are reached; -1 without requests.
func medianBin(hist *[record.ContextBins]int64) int {
	var all, below int64
	for _, n := range hist {
		all += n
	}
	for bin, n := range hist {
		if below += n; below > 0 && 2*below >= all {
			return bin
		}
	}
	return -1
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Graph, b.Graph), cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(a.Decode, b.Decode), cmp.Compare(a.Prefill, b.Prefill),
		cmp.Compare(a.Context, b.Context), cmp.Compare(a.Beside, b.Beside))
}

// Kind is a Key as it is printed.
type Kind struct {
	Graph   string `json:"graph_mode"`
	Bucket  *int64 `json:"bucket_tokens"` // null where no graph ran
	Decode  string `json:"decode"`        // requests
	Prefill string `json:"prefill"`       // tokens
	Context string `json:"context"`       // bin of the median context length, by its upper edge in tokens; "-" when not known
	Beside  string `json:"beside"`        // neighbours that move time to or from it: eager before, eager after, eager both, idle before; "" for none
}

// Kind names the key.
func (k Key) Kind() Kind {
	c := Kind{Graph: k.Graph.String(), Decode: binName(int(k.Decode)), Prefill: binName(int(k.Prefill)), Context: unit.Unknown, Beside: k.Beside.String()}
	if k.Bucket > 0 {
		c.Bucket = &k.Bucket
	}
	if k.Context >= 0 {
		edges := record.ContextEdges()
		c.Context = unit.Edges(edges[:])[k.Context]
	}
	return c
}
