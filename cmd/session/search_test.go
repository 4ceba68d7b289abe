package session

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	remarks "opprof/engine/notes"
	"opprof/engine/query"
	"opprof/engine/record"
	"opprof/engine/search"
	"opprof/engine/store"
)

// counted is how many steps of a stream match, asked one by one.
func counted(t *testing.T, text string, stream []byte) (matches, steps int64) {
	t.Helper()
	q, err := query.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	var order store.Sequence
	lines := record.NewReader(bytes.NewReader(stream), "stream")
	for lines.Scan() {
		if lines.Line().Kind != record.KindStep {
			continue
		}
		steps++
		p := order.Next(&lines.Line().Step)
		var period *int64
		if p.PeriodNS >= 0 {
			period = &p.PeriodNS
		}
		if q.Ask(&lines.Line().Step, period) == query.Yes {
			matches++
		}
	}
	return matches, steps
}

// searched asks again until a search has found so many matches in all that there is.
func searched(t *testing.T, s *Session, text string, matches int64) *search.Search {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		now, err := s.Search(ctx, text, "")
		if err != nil {
			t.Fatal(err)
		}
		if c, done := now.Counts(); done && c.Matches == matches {
			return now
		}
		runtime.Gosched()
	}
}

// Matches of a long run are where its pictures have them, also in the part that is only indexed.
func TestMatchesOfALongRun(t *testing.T) {
	dir, stream := writeRounds(t, "h200-tp1", 3)
	data, err := os.ReadFile(stream)
	if err != nil {
		t.Fatal(err)
	}
	const text = "prefill_tokens > 4096 && period_ms > 100"
	matches, steps := counted(t, text, data)
	s := open(t, dir, Options{wholeBytes: 1 << 20, recentBytes: 1 << 19})
	wait(t, s)
	now := searched(t, s, text, matches)
	if c, _ := now.Counts(); c.Steps != steps {
		t.Errorf("%d steps searched, want %d", c.Steps, steps)
	}
	at, n := int64(-1), int64(0)
	for {
		hit, ok, err := now.Next(t.Context(), at, true)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		if n%20 == 0 {
			if f := frame(t, s, store.Query{AtNS: hit.AtNS, SpanNS: 1, Columns: 1}); f.Now.StepIndex != hit.Step || f.Now.TimeNS != hit.AtNS || f.Now.PrefillTokens <= 4096 {
				t.Errorf("match at step %d, %d: the picture is at step %d, %d", hit.Step, hit.AtNS, f.Now.StepIndex, f.Now.TimeNS)
			}
		}
		n, at = n+1, hit.AtNS
	}
	if n != matches {
		t.Errorf("walked %d of %d matches", n, matches)
	}
	if other, err := s.Search(t.Context(), "running > 0", ""); err != nil || other == now {
		t.Errorf("another expression: %v", err)
	}
	if none, err := s.Search(t.Context(), "", ""); err != nil || none != nil {
		t.Errorf("no expression: %v, %v", none, err)
	}
	if _, err := s.Search(t.Context(), "no such field", ""); err == nil {
		t.Error("an expression that is none was taken")
	}
}

func TestSearchOfALiveRunGoesOn(t *testing.T) {
	dir, stream := writeRounds(t, "h200-tp1-literal", 1)
	data, err := os.ReadFile(stream)
	if err != nil {
		t.Fatal(err)
	}
	half := bytes.IndexByte(data[len(data)/2:], '\n') + len(data)/2 + 1
	if err := os.WriteFile(stream, data[:half+100], 0o600); err != nil { // and the beginning of a line
		t.Fatal(err)
	}
	const text = "prefill_tokens > 0"
	first, _ := counted(t, text, data[:half])
	all, _ := counted(t, text, data)
	if first == all {
		t.Fatal("the second half holds no match")
	}
	s := open(t, dir, Options{Kind: KindLive, Poll: time.Millisecond})
	searched(t, s, text, first)
	f, err := os.OpenFile(stream, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(data[half+100:]); err != nil {
		t.Fatal(err)
	}
	searched(t, s, text, all)
}

func TestNotesOfASession(t *testing.T) {
	dir, _ := writeRounds(t, "h200-tp1-literal", 1)
	s := open(t, dir, Options{})
	wait(t, s)
	engine, at, ok, err := s.StepOf(t.Context(), "", 7)
	if err != nil || !ok || engine == "" {
		t.Fatalf("step 7: %q, %t, %v", engine, ok, err)
	}
	step := int64(7)
	kept, where, err := s.KeepNote(t.Context(), remarks.Note{Engine: engine, Step: &step, AtNS: at, Text: "seven"})
	if err != nil || where != "" || kept.ID == "" {
		t.Fatalf("%+v in %q, %v", kept, where, err)
	}
	kept.Text = "7"
	if _, _, err := s.KeepNote(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	if l, err := s.Notes(t.Context()); err != nil || len(l.Notes) != 1 || l.Notes[0].Text != "7" {
		t.Errorf("%+v, %v", l, err)
	}
	if err := s.DropNote(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	if l, err := s.Notes(t.Context()); err != nil || len(l.Notes) != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}
