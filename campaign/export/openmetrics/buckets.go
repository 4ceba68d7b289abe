package openmetrics

import (
	"slices"
	"strings"
)

// buckets is a histogram of integers whose upper edges belong to their bin.
type buckets struct {
	edges  []int64
	counts []int64 // one more than edges: the last bin is open
	n, sum int64
}

func newBuckets(edges []int64) buckets {
	return buckets{edges: edges, counts: make([]int64, len(edges)+1)}
}

func (b *buckets) add(v int64) {
	at, _ := slices.BinarySearch(b.edges, v)
	b.counts[at]++
	b.n++
	b.sum += v
}

// write gives the samples of a histogram: edges are divided by scale, and sum prints the sum.
func (b *buckets) write(t *text, name string, scale float64, sum func(int64) string, labels ...string) {
	var below int64
	for i, n := range b.counts {
		below += n
		edge := "+Inf"
		if i < len(b.edges) {
			edge = canonical(float64(b.edges[i]) / scale)
		}
		t.sample(name+"_bucket", integer(below), append(slices.Clone(labels), "le", edge)...)
	}
	t.sample(name+"_count", integer(b.n), labels...)
	t.sample(name+"_sum", sum(b.sum), labels...)
}

// canonical is how the format wants an edge: as a floating-point number.
func canonical(v float64) string {
	if s := real(v); strings.ContainsAny(s, ".e") {
		return s
	}
	return real(v) + ".0"
}

// tokenEdges are vLLM's for its iteration_tokens_total.
func tokenEdges() []int64 {
	return []int64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
}

// periodEdges reach from a decode step of a small model to a stall, in ns: 0.5 ms to 10 s.
func periodEdges() []int64 {
	const ms = 1_000_000
	return []int64{ms / 2, ms, 2 * ms, 3 * ms, 5 * ms, 7500 * ms / 1000, 10 * ms, 15 * ms, 20 * ms, 30 * ms, 50 * ms, 75 * ms, 100 * ms, 150 * ms, 250 * ms, 500 * ms,
		1000 * ms, 2500 * ms, 5000 * ms, 10000 * ms}
}
