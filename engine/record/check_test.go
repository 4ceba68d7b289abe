package record

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// spread deals total over the bins.
func spread(t *rapid.T, label string, total int64, bins []int64) {
	for i := range bins {
		bins[i] = 0
	}
	for total > 0 {
		n := rapid.Int64Range(1, total).Draw(t, label)
		bins[rapid.IntRange(0, len(bins)-1).Draw(t, label+" bin")] += n
		total -= n
	}
}

// soundStep draws a step that every rule allows, after the one before.
func soundStep(t *rapid.T, before *Step) Step {
	draw := func(label string, most int64) int64 { return rapid.Int64Range(0, most).Draw(t, label) }
	s := Step{EngineID: "dp0-pid7", DroppedBefore: draw("dropped", 3), ModelExecuted: true,
		DecodeBatchSize: draw("decode", 300), PrefillRequests: draw("prefill", 40), DecodeTokens: draw("decode tokens", 5000),
		Has: HasResumed | HasRecompute | HasUnsplitTokens | HasChunkTail | HasPrefixLocal}
	s.StepIndex = before.StepIndex + 1 + draw("missing", s.DroppedBefore)
	s.SubmitMonoNS = before.SubmitMonoNS + draw("submit", 1e9)
	s.CompleteMonoNS = max(before.CompleteMonoNS, s.SubmitMonoNS) + draw("complete", 1e9)
	s.SubmitWallNS = 1_800_000_000_000_000_000 + s.SubmitMonoNS
	s.ScheduledRequests = s.DecodeBatchSize + s.PrefillRequests
	spread(t, "context", s.ScheduledRequests, s.ContextHist[:])
	spread(t, "size", s.PrefillRequests, s.Chunks.SizeHist[:])
	spread(t, "tail", s.Chunks.SizeHist[ChunkBins-1], s.Chunks.TailHist[:])
	var kinds [4]int64
	spread(t, "kind", s.PrefillRequests, kinds[:])
	s.Chunks.First, s.Chunks.Middle, s.Chunks.Final, s.Chunks.Unsplit = kinds[0], kinds[1], kinds[2], kinds[3]
	s.PrefillTokens = draw("prefill tokens", 8192)
	s.Chunks.Tokens = s.PrefillTokens
	if s.Chunks.Unsplit > 0 {
		s.Chunks.UnsplitTokens = draw("unsplit tokens", s.PrefillTokens)
	}
	s.KV.UsedBlocks, s.KV.FreeBlocks = draw("used", 7000), draw("free", 7000)
	s.KV.TotalBlocks, s.KV.Usage = s.KV.UsedBlocks+s.KV.FreeBlocks, rapid.Float64Range(0, 1).Draw(t, "usage")
	if rapid.Bool().Draw(t, "graph") {
		s.Has |= HasGraph
		g := &s.Graph
		g.Mode = rapid.SampledFrom([]GraphMode{GraphNone, GraphPiecewise, GraphFull, GraphOther}).Draw(t, "mode")
		g.Hit = g.Mode != GraphNone
		g.UnpaddedTokens, g.PaddingTokens = s.PrefillTokens+s.DecodeTokens, draw("padding", 512)
		g.BucketTokens = g.UnpaddedTokens + g.PaddingTokens
	}
	return s
}

// soundStream draws the lines of a whole stream that every rule allows.
func soundStream(t *rapid.T) []Line {
	all := []Line{{Kind: KindHeader, Header: faultHeader()}}
	var last Step
	dropped := int64(0)
	for range rapid.IntRange(1, 8).Draw(t, "steps") {
		last = soundStep(t, &last)
		dropped += last.DroppedBefore
		all = append(all, Line{Kind: KindStep, Step: last})
		if rapid.IntRange(0, 4).Draw(t, "marker") == 0 {
			all = append(all, Line{Kind: KindProfile, Profile: Profile{EngineID: "dp0-pid7", Action: ActionStart, AfterStep: last.StepIndex}})
		}
	}
	f := Footer{EngineID: "dp0-pid7", Written: int64(len(all)), Dropped: dropped}
	f.Encoded = f.Written + f.Dropped
	return append(all, Line{Kind: KindFooter, Footer: f})
}

func checkAll(all []Line) Check {
	c := NewChecker()
	for i := range all {
		all[i].Number = int64(i + 1)
		c.Add(&all[i])
	}
	return c.Result()
}

func TestSoundStreamsHaveNoViolation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := soundStream(t)
		got := checkAll(all)
		if !got.OK() || got.MissingFooter || got.WallJumps != 0 || got.EngineID != "dp0-pid7" {
			t.Fatalf("%+v", got)
		}
		if f := all[len(all)-1].Footer; got.Dropped != f.Dropped {
			t.Fatalf("dropped %d, want %d", got.Dropped, f.Dropped)
		}
	})
}

// Every rule finds its own violation, and nothing else is blamed.
func TestOneChangeBreaksItsRules(t *testing.T) {
	graph := func(s *Step) {
		if !s.Known(HasGraph) {
			n := s.PrefillTokens + s.DecodeTokens
			s.Has, s.Graph = s.Has|HasGraph, Graph{Hit: true, Mode: GraphFull, UnpaddedTokens: n, BucketTokens: n}
		}
	}
	for _, c := range []struct {
		rules  string
		damage func(*Step)
	}{
		{"index_gap", func(s *Step) { s.StepIndex += s.DroppedBefore + 1 }},
		{"index_gap", func(s *Step) { s.StepIndex = 0 }},
		{"split_requests", func(s *Step) { s.DecodeBatchSize++ }},
		{"split_tokens", func(s *Step) { graph(s); s.DecodeTokens++ }},
		{"context_hist_sum", func(s *Step) { s.ContextHist[11]++ }},
		{"context_hist_sum split_requests", func(s *Step) { s.ScheduledRequests++ }},
		{"chunk_kind_sum", func(s *Step) { s.Chunks.Middle++ }},
		{"chunk_hist_sum", func(s *Step) { s.Chunks.SizeHist[0]++ }},
		{"chunk_hist_sum", func(s *Step) { s.Chunks.TailHist[0]++ }},
		{"chunk_tokens", func(s *Step) { s.Chunks.Tokens++ }},
		{"chunk_tokens", func(s *Step) { s.Chunks.UnsplitTokens = s.Chunks.Tokens + 1 }},
		{"kv_sum", func(s *Step) { s.KV.FreeBlocks++ }},
		{"kv_usage", func(s *Step) { s.KV.Usage = 1.0000000000000002 }},
		{"kv_usage", func(s *Step) { s.KV.Usage = -5e-324 }},
		{"graph_bucket", func(s *Step) { graph(s); s.Graph.PaddingTokens++ }},
		{"graph_bucket", func(s *Step) { graph(s); s.Graph.BucketTokens++ }},
		{"graph_mode", func(s *Step) { graph(s); s.Graph.Hit = !s.Graph.Hit }},
		{"negative", func(s *Step) { s.Preemptions = -1 }},
		{"negative", func(s *Step) { s.Queues.Deferred = -1 }},
		{"negative", func(s *Step) { s.Local.PreemptedHits = -1 }},
		{"negative", func(s *Step) { s.External.Requests = -1 }},
		{"negative", func(s *Step) { s.RecomputeTokens = -1 }},
		{"clock", func(s *Step) { s.CompleteMonoNS = s.SubmitMonoNS - 1 }},
	} {
		rapid.Check(t, func(t *rapid.T) {
			all := soundStream(t)
			broken := -1
			for i := range all { // the last step, so that no later one is compared with it
				if all[i].Kind == KindStep {
					broken = i
				}
			}
			s := &all[broken].Step
			if c.rules == "index_gap" && broken == 1 {
				t.Skip("the first step has none before it")
			}
			c.damage(s)
			index := s.StepIndex
			got := checkAll(all)
			names := slices.Sorted(maps.Keys(got.Violations))
			want := strings.Fields(c.rules)
			if c.rules == "clock" && slices.Contains(names, "negative") && s.CompleteMonoNS < 0 {
				want = []string{"clock", "negative"}
			}
			if !slices.Equal(names, want) {
				t.Fatalf("%s: found %v", c.rules, got.Violations)
			}
			for _, name := range want {
				v := got.Violations[name]
				if v.FirstStep != index || v.Detail == "" {
					t.Fatalf("%s at step %d: %+v", name, index, v)
				}
			}
		})
	}
}

// The JSON of a check holds the names that scripts rely on.
func TestCheckJSON(t *testing.T) {
	c := checkAll([]Line{{Kind: KindStep, Step: faultStep(1)}, {Kind: KindStep, Step: faultStep(3)}})
	c.Path = "f.jsonl"
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"path":"f.jsonl","engine_id":"dp0-pid7","steps":2,"bad_lines":0,"torn_tail":false,"dropped":0,"missing_footer":true,` +
		`"wall_jumps":0,"violations":{"index_gap":{"count":1,"first_step":3,` +
		`"detail":"step_index went from 1 to 3: 1 steps are missing, 0 of them reported as dropped"}}}`
	if string(b) != want {
		t.Errorf("got\n%s\nwant\n%s", b, want)
	}
}

// FuzzChecker feeds any text to reader and checker: nothing may panic, and the counts have to add up.
func FuzzChecker(f *testing.F) {
	f.Add([]byte(strings.Join(writtenLines, "\n")))
	var text []byte
	for _, l := range []Line{{Kind: KindHeader, Header: faultHeader()}, {Kind: KindStep, Step: faultStep(1)}, {Kind: KindStep, Step: faultStep(2)},
		{Kind: KindFooter, Footer: Footer{Encoded: 3, Written: 3}}} {
		text = append(Append(text, &l), '\n')
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		r, c := NewReader(strings.NewReader(string(text)), "f"), NewChecker()
		kinds := map[Kind]int64{}
		for r.Scan() {
			kinds[r.Line().Kind]++
			c.Add(r.Line())
		}
		got, stats := c.Result(), r.Stats()
		if got.Steps != kinds[KindStep] || got.BadLines != stats.Bad || got.TornTail != (stats.Torn == 1) ||
			kinds[KindBad] != stats.Bad+stats.Torn || stats.Steps != got.Steps {
			t.Fatalf("%+v, %+v, %v", got, stats, kinds)
		}
		for name, v := range got.Violations {
			if v.Count < 1 || v.Detail == "" || !slices.Contains(invariantNames[:], name) {
				t.Fatal(fmt.Sprint(name, v))
			}
		}
	})
}
