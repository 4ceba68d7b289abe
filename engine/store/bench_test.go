package store

import (
	"testing"

	"opprof/engine/record"
)

// synthetic makes steps like those of a busy server: a step every periodNS, a mixed batch now and then.
func synthetic(n int, periodNS int64) []record.Line {
	lines := make([]record.Line, n)
	at := int64(10_000_000_000)
	for i := range lines {
		l := &lines[i]
		l.Kind = record.KindStep
		s := &l.Step
		jitter := int64(i*7919%1000-500) * periodNS / 4000
		done := at + periodNS + jitter
		*s = record.Step{
			EngineID: "dp0-pid7", StepIndex: int64(i + 1), SubmitMonoNS: at - periodNS, CompleteMonoNS: done,
			SubmitWallNS: 1_790_000_000_000_000_000 + at - periodNS, ModelExecuted: true,
			ScheduledRequests: 28, DecodeBatchSize: 28, DecodeTokens: 28,
			Queues: record.Queues{Running: 28, Waiting: int64(i % 5)},
			KV:     record.KV{TotalBlocks: 7000, FreeBlocks: 3000, UsedBlocks: 4000, Usage: 4.0 / 7},
			Has:    record.HasGraph | record.HasPrefixLocal | record.HasRecompute | record.HasResumed,
			Graph:  record.Graph{Hit: true, Mode: record.GraphFull, UnpaddedTokens: 28, BucketTokens: 32, PaddingTokens: 4},
		}
		s.ContextHist = [record.ContextBins]int64{0, 2, 6, 9, 5, 4, 2}
		if i%16 == 0 {
			s.PrefillRequests, s.PrefillTokens, s.ScheduledRequests = 1, 7000, 29
			s.Chunks = record.Chunks{Unsplit: 1, Tokens: 7000}
			s.Chunks.SizeHist[8] = 1
		}
		at = done
	}
	return lines
}

// again shifts the steps so that they follow the last of them.
func again(lines []record.Line) {
	last := lines[len(lines)-1].Step
	first := lines[0].Step
	ns, steps := last.CompleteMonoNS-first.SubmitMonoNS, last.StepIndex-first.StepIndex+1
	for i := range lines {
		s := &lines[i].Step
		s.SubmitMonoNS, s.CompleteMonoNS, s.SubmitWallNS = s.SubmitMonoNS+ns, s.CompleteMonoNS+ns, s.SubmitWallNS+ns
		s.StepIndex += steps
	}
}

func BenchmarkLine(b *testing.B) {
	lines := synthetic(4096, 11_800_000)
	s := New(Options{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i > 0 && i%len(lines) == 0 {
			b.StopTimer()
			again(lines)
			b.StartTimer()
		}
		s.Line(0, &lines[i%len(lines)])
	}
}

// BenchmarkRead is the whole way of a line, decoding, checking and storing; the shares stand beside each other.
func BenchmarkRead(b *testing.B) {
	var text []byte
	eachLine(b, "h200-tp1", func(l *record.Line) {
		text = append(record.Append(text, l), '\n')
	})
	for _, c := range []struct {
		name         string
		check, store bool
	}{{"decode", false, false}, {"decode+check", true, false}, {"decode+check+store", true, true}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			d := record.NewDecoder("bench")
			var l record.Line
			for b.Loop() {
				s, check := New(Options{}), record.NewChecker()
				for rest := text; len(rest) > 0; {
					rest = rest[d.Next(rest, &l):]
					if c.check {
						check.Add(&l)
					}
					if c.store {
						s.Line(0, &l)
					}
				}
			}
		})
	}
}

func fullRing(periodNS int64) *Store {
	s := New(Options{})
	lines := synthetic(8192, periodNS)
	for range (RingSteps + 8192) / len(lines) {
		for i := range lines {
			s.Line(0, &lines[i])
		}
		again(lines)
	}
	return s
}

func BenchmarkFrame(b *testing.B) {
	for _, c := range []struct {
		name     string
		periodNS int64
		spanNS   int64
	}{
		{"84 steps a second, whole ring", 11_800_000, 65_000 * 11_800_000},
		{"840 steps a second, whole ring", 1_180_000, 65_000 * 1_180_000},
		{"84 steps a second, 60 s", 11_800_000, 60_000_000_000},
		{"84 steps a second, whole run", 11_800_000, 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := fullRing(c.periodNS)
			sn := s.Snapshot()
			q := Query{SpanNS: c.spanNS, Columns: 180}
			b.Run("cold", func(b *testing.B) {
				for b.Loop() {
					for _, block := range sn.engines[0].blocks {
						block.base.Store(nil)
						block.latest.Store(nil)
					}
					sn.Frame(q)
				}
			})
			b.Run("zoom", func(b *testing.B) {
				for b.Loop() {
					for _, block := range sn.engines[0].blocks {
						block.latest.Store(nil)
					}
					sn.Frame(q)
				}
			})
			b.Run("next", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					sn.Frame(q)
				}
			})
		})
	}
}

// BenchmarkSnapshot takes a snapshot after every step, as a screen does at most.
func BenchmarkSnapshot(b *testing.B) {
	s := fullRing(11_800_000)
	lines := synthetic(1, 11_800_000)
	b.ReportAllocs()
	for b.Loop() {
		again(lines)
		s.Line(0, &lines[0])
		s.Snapshot()
	}
}
