package roster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"opprof/engine/control"
	"opprof/engine/unit"
)

// Column is one figure of the runs, as a table shows and sorts it.
type Column struct {
	ID     string // names it on the command line
	Head   string
	Long   string // what it means
	Right  bool
	Usual  bool // shown unless others are asked for
	Weight int  // where there is no room, columns of the lowest weight go first; 0 never goes
	text   func(e *Entry, zone *time.Location) string
	order  func(a, b *Entry) int // runs of which the figure is not known stand last, whichever way it is sorted
	known  func(e *Entry) bool
}

// Text is a run's cell. Estimates of a long stream that was only sampled begin with ~.
func (c *Column) Text(e *Entry, zone *time.Location) string { return c.text(e, zone) }

// Columns are all columns, in the order of the table.
func Columns() []Column {
	return []Column{
		words("run", "run", "the run's id, or the name of its folder", true, 0, func(e *Entry) string { return e.ID }),
		words("state", "state", "how the run stands: of a launched server as in `opprof status`; else live while its records are written, finished with its footer, cut off without one, broken where no step could be read", true, 0, state),
		words("model", "model", "the model that was served", true, 40, func(e *Entry) string { return e.Model }),
		number("tp", "TP", "tensor-parallel ranks", true, 55, func(e *Entry) *int64 { return e.TP }, unit.Count),
		number("dp", "DP", "data-parallel ranks", false, 20, func(e *Entry) *int64 { return e.DP }, unit.Count),
		{ID: "date", Head: "began", Long: "completion of the first step", Usual: true, Weight: 50, known: func(e *Entry) bool { return e.FirstNS != nil },
			text:  func(e *Entry, zone *time.Location) string { return date(e.FirstNS, zone) },
			order: func(a, b *Entry) int { return cmp.Compare(*a.FirstNS, *b.FirstNS) }},
		number("duration", "length", "from the first step's completion to the last one's", true, 60, func(e *Entry) *int64 { return e.DurationNS }, unit.Duration),
		estimate("steps", "steps", "scheduler steps", true, 65, func(e *Entry) *int64 { return e.Steps }, unit.Short),
		estimate("tokens", "tokens", "prefill and decode tokens, those computed again after a preemption left out where the recorder tells", true, 45, (*Entry).Tokens, unit.Short),
		estimate("prefill", "prefill tok", "prefill tokens", false, 15, func(e *Entry) *int64 { return e.PrefillTokens }, unit.Short),
		estimate("decode", "decode tok", "decode tokens, those computed again after a preemption left out where the recorder tells", false, 15, func(e *Entry) *int64 { return e.DecodeTokens }, unit.Short),
		estimate("p50", "p50 ms", "median step period; within 0.79 %", false, 30, func(e *Entry) *int64 { return e.P50NS }, unit.DurationMS),
		estimate("p95", "p95 ms", "95th percentile of the step period; within 0.79 %", true, 70, func(e *Entry) *int64 { return e.P95NS }, unit.DurationMS),
		number("dropped", "drops", "records that the server dropped", true, 35, func(e *Entry) *int64 { return e.Dropped }, unit.Count),
		number("gaps", "gaps", "jumps of the step index that no drop explains, restarts too", false, 10, func(e *Entry) *int64 { return e.Gaps }, unit.Count),
		number("bad", "bad lines", "lines that could not be read", false, 10, func(e *Entry) *int64 { return e.BadLines }, unit.Count),
		number("windows", "windows", "profiler windows", true, 30, func(e *Entry) *int64 { return e.Windows }, unit.Count),
		number("size", "size", "of its Layer-1 streams on disk", false, 10, func(e *Entry) *int64 { return knownBytes(e) }, unit.Bytes),
		words("verdict", "verdict", "of a campaign's run counted, void or failed as its runner judged it; of others whole with every record up to the footer, incomplete where records were dropped, are missing or cannot be read, broken without a step; not said where no step has come yet or its recorder was off", true, 48, func(e *Entry) string { return e.Verdict }),
		words("graphs", "graphs", "configured CUDA-graph mode", false, 10, func(e *Entry) string { return e.GraphMode }),
		words("vllm", "vLLM", "version of vLLM", false, 10, func(e *Entry) string { return e.VLLM }),
		words("gpu", "GPU", "the first GPU", false, 10, func(e *Entry) string { return e.GPU }),
		words("campaign", "campaign", "the campaign that it is a run of", true, 25, func(e *Entry) string { return e.Campaign }),
	}
}

func words(id, head, long string, usual bool, weight int, of func(e *Entry) string) Column {
	return Column{ID: id, Head: head, Long: long, Usual: usual, Weight: weight, known: func(e *Entry) bool { return of(e) != "" },
		text:  func(e *Entry, _ *time.Location) string { return cmp.Or(of(e), unit.Unknown) },
		order: func(a, b *Entry) int { return cmp.Compare(strings.ToLower(of(a)), strings.ToLower(of(b))) }}
}

func number(id, head, long string, usual bool, weight int, of func(e *Entry) *int64, print func(int64) string) Column {
	return Column{ID: id, Head: head, Long: long, Right: true, Usual: usual, Weight: weight, known: func(e *Entry) bool { return of(e) != nil },
		text:  func(e *Entry, _ *time.Location) string { return unit.Known(of(e), print) },
		order: func(a, b *Entry) int { return cmp.Compare(*of(a), *of(b)) }}
}

// estimate is a number that stands for samples where a run was only sampled.
func estimate(id, head, long string, usual bool, weight int, of func(e *Entry) *int64, print func(int64) string) Column {
	c := number(id, head, long, usual, weight, of, print)
	c.text = func(e *Entry, _ *time.Location) string {
		if n := of(e); n != nil && e.Sampled {
			return "~" + print(*n)
		}
		return unit.Known(of(e), print)
	}
	return c
}

func state(e *Entry) string {
	if e.Pending {
		return "reading"
	}
	return control.Word(e.State, e.Reason)
}

func date(ns *int64, zone *time.Location) string {
	if ns == nil {
		return unit.Unknown
	}
	return time.Unix(0, *ns).In(zone).Format("2006-01-02 15:04")
}

func knownBytes(e *Entry) *int64 {
	if e.Pending {
		return nil
	}
	return &e.Bytes
}

// View is a choice of columns, rows and their order.
type View struct {
	Columns []string // ids; nil is the usual ones
	Sort    string   // id of a column; "" is the run begun last first
	Turned  bool     // from the largest to the smallest
	Filter  string   // runs whose id, model, state, campaign or versions hold this text
}

// Check says what is wrong with a view.
func (v View) Check() error {
	for _, id := range append(slices.Clone(v.Columns), v.Sort) {
		if id != "" && column(id) == nil {
			return fmt.Errorf("there is no column %q: expected %s", id, strings.Join(columnIDs(), ", "))
		}
	}
	return nil
}

func columnIDs() []string {
	var out []string
	for _, c := range Columns() {
		out = append(out, c.ID)
	}
	return out
}

func column(id string) *Column {
	all := Columns()
	if i := slices.IndexFunc(all, func(c Column) bool { return c.ID == id }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Shown are the view's columns.
func (v View) Shown() []Column {
	return slices.DeleteFunc(Columns(), func(c Column) bool {
		if v.Columns == nil {
			return !c.Usual
		}
		return c.ID != "run" && !slices.Contains(v.Columns, c.ID)
	})
}

// Rows are the runs that the view shows, in its order. The roster is not changed.
func (v View) Rows(r *Roster) []Entry {
	rows := make([]Entry, 0, len(r.Runs))
	for i := range r.Runs {
		if r.Runs[i].holds(v.Filter) {
			rows = append(rows, r.Runs[i])
		}
	}
	c := column(v.Sort)
	if c == nil {
		return rows
	}
	slices.SortStableFunc(rows, func(a, b Entry) int {
		switch knownA, knownB := c.known(&a), c.known(&b); {
		case !knownA && !knownB:
			return 0
		case !knownA:
			return 1
		case !knownB:
			return -1
		case v.Turned:
			return c.order(&b, &a)
		}
		return c.order(&a, &b)
	})
	return rows
}

// holds reports whether one of the texts that name a run contains a text, in any case of letters.
func (e *Entry) holds(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, s := range []string{e.ID, e.Model, e.Campaign, state(e), e.Reason, e.GPU, e.VLLM, e.GraphMode} {
		if strings.Contains(strings.ToLower(s), text) {
			return true
		}
	}
	return false
}
