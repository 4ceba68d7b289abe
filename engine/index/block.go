package index

import (
	"math"

	"opprof/engine/record"
	"opprof/engine/store"
)

const (
	// BlockSteps is the number of steps in a full block.
	BlockSteps = 1024
	// blockBytesMax ends a block early, in a stretch of lines that are no steps.
	blockBytesMax = 8 << 20
)

// Field is a number of a step whose range each block keeps.
type Field uint8

const (
	ScheduledRequests Field = iota
	DecodeBatchSize
	PrefillRequests
	PrefillTokens
	DecodeTokens
	RecomputeTokens // of steps that tell it
	Preemptions
	Running
	Waiting
	Deferred
	KVUsagePPM     // kv.usage in millionths; the smallest is rounded down, the largest up
	PeriodNS       // of steps whose period is known
	UnpaddedTokens // of the CUDA graph, where there is one
	PaddingTokens
	Fields // number of fields
)

// Zone is the range of a field in a block. It is empty when no step has the field.
type Zone struct{ Min, Max int64 }

var emptyZone = Zone{math.MaxInt64, math.MinInt64}

// Empty reports whether no step had the field.
func (z Zone) Empty() bool { return z.Min > z.Max }

// Meets reports whether a value in [low, high] may be in the block.
func (z Zone) Meets(low, high int64) bool { return z.Min <= high && low <= z.Max }

func (z *Zone) add(n int64) { z.Min, z.Max = min(z.Min, n), max(z.Max, n) }

// Block is a stretch of whole lines of one engine. Step lines are decoded from Offset on with the sequence Before.
type Block struct {
	Engine    int   // index into Engines
	Offset    int64 // of its first byte
	End       int64 // of the byte behind it
	FirstLine int64 // number of lines before it
	Steps     int64
	Unplaced  int64 // steps whose clock has no place on the time axis
	MinStep   int64 // smallest step_index; meaningful with Steps > 0
	MaxStep   int64
	FirstNS   int64 // earliest completion on the time axis, ns since 1970; 0 when no step has a place on it
	LastNS    int64 // latest one
	Graphs    uint8 // bit 1<<mode for each record.GraphMode that occurs
	Gaps      int64 // steps with lost steps or a restart before them
	Stalls    int64 // steps with a long period, or a long pause before them
	Zones     [Fields]Zone
	Before    store.Sequence // of its engine, in front of its first step
}

func newBlock(engine int, offset, line int64, before store.Sequence) *Block {
	b := &Block{Engine: engine, Offset: offset, End: offset, FirstLine: line, Before: before}
	for i := range b.Zones {
		b.Zones[i] = emptyZone
	}
	return b
}

// add counts one step.
func (b *Block) add(s *record.Step, p store.Place) {
	if b.Steps == 0 {
		b.MinStep, b.MaxStep = s.StepIndex, s.StepIndex
	}
	b.Steps++
	b.MinStep, b.MaxStep = min(b.MinStep, s.StepIndex), max(b.MaxStep, s.StepIndex)
	if p.OffAxis {
		b.Unplaced++
	} else {
		if b.Steps-b.Unplaced == 1 {
			b.FirstNS, b.LastNS = p.TimeNS, p.TimeNS
		}
		b.FirstNS, b.LastNS = min(b.FirstNS, p.TimeNS), max(b.LastNS, p.TimeNS)
	}
	if p.Gap {
		b.Gaps++
	}
	if p.Stalls() {
		b.Stalls++
	}
	mode := record.GraphUnknown
	if s.Has&record.HasGraph != 0 {
		mode = min(s.Graph.Mode, record.GraphOther)
	}
	b.Graphs |= 1 << mode
	b.addZones(s, p)
}

func (b *Block) addZones(s *record.Step, p store.Place) {
	z := &b.Zones
	z[ScheduledRequests].add(s.ScheduledRequests)
	z[DecodeBatchSize].add(s.DecodeBatchSize)
	z[PrefillRequests].add(s.PrefillRequests)
	z[PrefillTokens].add(s.PrefillTokens)
	z[DecodeTokens].add(s.DecodeTokens)
	z[Preemptions].add(s.Preemptions)
	z[Running].add(s.Queues.Running)
	z[Waiting].add(s.Queues.Waiting)
	z[Deferred].add(s.Queues.Deferred)
	low, high := usagePPM(s.KV.Usage)
	z[KVUsagePPM].add(low)
	z[KVUsagePPM].add(high)
	if s.Has&record.HasRecompute != 0 {
		z[RecomputeTokens].add(s.RecomputeTokens)
	}
	if p.PeriodNS >= 0 {
		z[PeriodNS].add(p.PeriodNS)
	}
	if s.Has&record.HasGraph != 0 {
		z[UnpaddedTokens].add(s.Graph.UnpaddedTokens)
		z[PaddingTokens].add(s.Graph.PaddingTokens)
	}
}

// usagePPM encloses a usage between two whole millionths. A number far outside [0,1] is clamped; it still lies on the same side.
func usagePPM(usage float64) (low, high int64) {
	ppm := min(max(usage*1e6, -1e15), 1e15)
	if math.IsNaN(ppm) {
		return 0, 0
	}
	return int64(math.Floor(ppm)), int64(math.Ceil(ppm))
}
