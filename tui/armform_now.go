package tui

import (
	"strings"

	"opprof/engine/query"
	"opprof/engine/record"
	"opprof/engine/store"
)

// holdsNow says whether an expression holds at the newest step that was read.
func holdsNow(text string, frame *store.Frame) (answer query.Answer, why string) {
	q, err := query.Compile(text)
	switch {
	case err != nil:
		return query.Unknown, ""
	case frame == nil || !frame.Now.Known:
		return query.Unknown, "no step was read yet"
	case strings.Contains(text, "submit_to_complete_ms"):
		return query.Unknown, "submit_to_complete_ms is not kept for the newest step"
	}
	s := stepOf(&frame.Now)
	answer = q.Ask(&s, frame.Now.PeriodNS)
	if answer == query.Unknown {
		why = "the newest step lacks a value that it needs"
	}
	return answer, why
}

// stepOf is an instant as the step that it was made of; of several engines it is the sum, as the screen shows it.
func stepOf(in *store.Instant) record.Step {
	s := record.Step{
		StepIndex: in.StepIndex, ModelExecuted: in.PrefillTokens+in.DecodeTokens > 0, ScheduledRequests: in.ScheduledRequests,
		DecodeBatchSize: in.DecodeBatchSize, PrefillRequests: in.PrefillRequests, PrefillTokens: in.PrefillTokens, DecodeTokens: in.DecodeTokens,
		Chunks: in.Chunks, ContextHist: in.ContextHist, Preemptions: in.Preemptions, Queues: in.Queues, KV: in.KV, DroppedBefore: in.Dropped,
	}
	if in.ResumedRequests != nil {
		s.ResumedRequests = *in.ResumedRequests
		s.Has |= record.HasResumed
	}
	if in.RecomputeTokens != nil {
		s.RecomputeTokens = *in.RecomputeTokens
		s.Has |= record.HasRecompute
	}
	if in.Local != nil {
		s.Local = *in.Local
		s.Has |= record.HasPrefixLocal
	}
	if in.Graph != nil {
		s.Graph = *in.Graph
		s.Has |= record.HasGraph
	}
	return s
}

// fieldHelp are the fields of an expression that a name may become: those that begin with it, then those that hold it; all without a name.
func fieldHelp(word string) []query.Field {
	var begin, hold []query.Field
	for _, f := range query.Fields() {
		switch {
		case strings.HasPrefix(f.Name, word):
			begin = append(begin, f)
		case strings.Contains(f.Name, word):
			hold = append(hold, f)
		}
	}
	return append(begin, hold...)
}
