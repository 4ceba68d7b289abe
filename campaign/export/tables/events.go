package tables

import (
	"encoding/json"

	"opprof/campaign/export/columnar"
	"opprof/engine/record"
)

// Event is a row of the events table: a line that is no step.
type Event struct {
	Kind   string
	Line   int64
	Offset int64 // bytes

	Header  *record.Header
	Profile *record.Profile
	Dummy   *record.DummyStep
	Footer  *record.Footer
	Reason  string // of a bad line
}

// NewEvent takes what an event keeps of a line. ok is false for a step and a blank line.
func NewEvent(l *record.Line) (e Event, ok bool) {
	e = Event{Line: l.Number, Offset: l.Offset}
	switch l.Kind {
	case record.KindHeader:
		h := l.Header
		e.Kind, e.Header = "header", &h
	case record.KindProfile:
		p := l.Profile
		e.Kind, e.Profile = "profile", &p
	case record.KindDummyStep:
		d := l.Dummy
		e.Kind, e.Dummy = "dummy_step", &d
	case record.KindFooter:
		f := l.Footer
		e.Kind, e.Footer = "footer", &f
	case record.KindBad:
		e.Kind, e.Reason = "bad", l.Err.Error()
		if l.Err.TornTail {
			e.Kind = "torn"
		}
	case record.KindUnknown:
		e.Kind = "unknown"
	default:
		return e, false
	}
	return e, true
}

// Events is one row a line that is no step.
func Events() *columnar.Table[Event] {
	profile := func(get func(*record.Profile) int64) func(*Event) (int64, bool) {
		return func(e *Event) (int64, bool) {
			if e.Profile == nil {
				return 0, false
			}
			return get(e.Profile), true
		}
	}
	footer := func(name, unit, doc string, get func(*record.Footer) int64) columnar.Column[Event] {
		return columnar.MaybeInt(name, unit, "of a footer: "+doc, func(e *Event) (int64, bool) {
			if e.Footer == nil {
				return 0, false
			}
			return get(e.Footer), true
		})
	}
	return &columnar.Table[Event]{Name: "events", Doc: "One row for each line that is no step.", Columns: []columnar.Column[Event]{
		columnar.Text("kind", "header, profile, dummy_step, footer, unknown (of a newer writer), bad (not a record) or torn (a last line without its end)",
			func(e *Event) string { return e.Kind }),
		columnar.MaybeInt("wall_ns", "ns since 1970", "wall clock of the event", (*Event).wallNS),
		columnar.MaybeInt("mono_ns", "ns", "monotonic clock of the event", (*Event).monoNS),
		columnar.MaybeInt("after_step", "", "step_index of the last schedule before a profile or dummy_step event", (*Event).afterStep),
		columnar.MaybeText("action", "of a profile event: start or stop", func(e *Event) string {
			if e.Profile == nil {
				return ""
			}
			return e.Profile.Action
		}),
		columnar.MaybeInt("return_mono_ns", "ns", "of a profile event: the call's return, monotonic clock", profile(func(p *record.Profile) int64 { return p.ReturnMonoNS })),
		columnar.MaybeBool("ok", "of a profile event: the call succeeded", func(e *Event) (bool, bool) {
			if e.Profile == nil || e.Profile.OK == nil {
				return false, false
			}
			return *e.Profile.OK, true
		}),
		columnar.MaybeText("error", "of a profile event, and why a line is bad", (*Event).problem),
		footer("encoded", "records", "lines handed to the writer's queue", func(f *record.Footer) int64 { return f.Encoded }),
		footer("written", "records", "lines written", func(f *record.Footer) int64 { return f.Written }),
		footer("dropped", "records", "lines dropped because the queue was full", func(f *record.Footer) int64 { return f.Dropped }),
		footer("queue_high_watermark", "records", "most lines that the queue held", func(f *record.Footer) int64 { return f.QueueHighWatermark }),
		columnar.MaybeText("details", "all fields of a header or footer, as JSON", (*Event).details),
		columnar.Int("line", "", "line of the stream's file, 1-based", func(e *Event) int64 { return e.Line }),
		columnar.Int("offset", "bytes", "where the line begins in the file, inflated", func(e *Event) int64 { return e.Offset }),
	}}
}

func (e *Event) wallNS() (int64, bool) {
	switch {
	case e.Header != nil:
		return e.Header.StartWallNS, true
	case e.Profile != nil:
		return e.Profile.WallNS, true
	case e.Dummy != nil:
		return e.Dummy.WallNS, true
	case e.Footer != nil:
		return e.Footer.EndWallNS, true
	}
	return 0, false
}

func (e *Event) monoNS() (int64, bool) {
	switch {
	case e.Header != nil:
		return e.Header.StartMonoNS, true
	case e.Profile != nil:
		return e.Profile.MonoNS, true
	case e.Dummy != nil:
		return e.Dummy.MonoNS, true
	}
	return 0, false
}

func (e *Event) afterStep() (int64, bool) {
	switch {
	case e.Profile != nil:
		return e.Profile.AfterStep, true
	case e.Dummy != nil:
		return e.Dummy.AfterStep, true
	}
	return 0, false
}

func (e *Event) problem() string {
	if e.Profile != nil {
		return e.Profile.Error
	}
	return e.Reason
}

func (e *Event) details() string {
	var v any
	switch {
	case e.Header != nil:
		v = e.Header
	case e.Footer != nil:
		v = e.Footer
	default:
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}
