package alert

import "time"

// Rule is one condition that is worth a warning.
type Rule uint8

// Rules, the most urgent first.
const (
	Stall       Rule = iota // a step period of StallNS or more, a pause as long before a step that goes on with requests, or none completed for so long while requests wait
	Blocked                 // no request runs while deferred ones exist: what they wait for does not come
	Dropped                 // the server's recorder lost records
	KVFull                  // the KV cache is nearly full
	Thrash                  // requests are preempted again and again
	GraphMisses             // decode steps run without a CUDA graph
	Padding                 // captured sizes are mostly padding
	BadLines                // lines that could not be read
	Gaps                    // steps are missing that no drop explains
	Rules                   // number of rules
)

var names = [Rules]string{
	"stall", "blocked", "dropped records", "KV cache full", "preemption thrash", "graph misses", "padding waste", "bad lines", "gaps",
}

var keys = [Rules]string{"stall", "blocked", "dropped", "kv_full", "thrash", "graph_misses", "padding", "bad_lines", "gaps"}

// units name what Count counts.
var units = [Rules]string{"steps", "steps", "records", "steps", "preemptions", "steps", "windows of 10 s", "lines", "gaps"}

// String is the rule's name as the screen writes it.
func (r Rule) String() string { return names[r%Rules] }

// MarshalText is the rule's name for scripts.
func (r Rule) MarshalText() ([]byte, error) { return []byte(keys[r%Rules]), nil }

// Unit names what a warning of the rule counts.
func (r Rule) Unit() string { return units[r%Rules] }

// WindowNS is the stretch of time over which preemptions, misses and padding are judged.
const WindowNS = int64(10 * time.Second)

// leastSteps is how many steps a window must hold before a share of them says anything.
const leastSteps = 50

// Thresholds say when a condition becomes a warning. A value of 0 switches its rule off; the other rules have no threshold: once is
// enough.
type Thresholds struct {
	StallNS     int64   // step period, or pause before a step
	KVUsage     float64 // share of KV blocks in use, (0,1]
	Preemptions int64   // within WindowNS
	GraphMisses float64 // share of a window's decode-only steps that ran without a CUDA graph, (0,1]
	Padding     float64 // share of padding in a window's bucket tokens, (0,1]
}

// Default returns the thresholds that hold without preferences.
func Default() Thresholds {
	return Thresholds{StallNS: int64(500 * time.Millisecond), KVUsage: 0.95, Preemptions: 10, GraphMisses: 0.1, Padding: 0.3}
}
