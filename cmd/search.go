package cmd

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"opprof/engine/query"
	"opprof/engine/record"
	"opprof/engine/search"
	"opprof/engine/store"
	"opprof/engine/unit"
)

const (
	defaultFound = 20
	maxFound     = 100_000
	// progressEvery is how often a search on the command line says how far it is.
	progressEvery = 100 * time.Millisecond
)

type searchOptions struct {
	json   bool
	count  bool
	limit  int
	engine string
}

// searchReport is what `search --json` prints.
type searchReport struct {
	Schema int64  `json:"schema"`
	Run    string `json:"run"` // its path
	Expr   string `json:"expr"`
	Engine string `json:"engine"` // "" all
	search.Counts
	Found []foundStep `json:"found"` // the earliest matches, by time
}

// foundStep is a step that matches.
type foundStep struct {
	EngineID          string  `json:"engine_id"`
	StepIndex         int64   `json:"step_index"`
	TimeNS            int64   `json:"time_ns"`   // completion, ns since 1970
	PeriodNS          *int64  `json:"period_ns"` // null unknown
	ScheduledRequests int64   `json:"scheduled_requests"`
	DecodeBatchSize   int64   `json:"decode_batch_size"`
	PrefillRequests   int64   `json:"prefill_requests"`
	PrefillTokens     int64   `json:"prefill_tokens"`
	DecodeTokens      int64   `json:"decode_tokens"`
	Preemptions       int64   `json:"preemptions"`
	Running           int64   `json:"running"`
	Waiting           int64   `json:"waiting"`
	KVUsage           float64 `json:"kv_usage"`             // 0 to 1
	GraphMode         *string `json:"graph_mode"`           // null unknown
	GraphBucket       *int64  `json:"graph_bucket_tokens"`  // null unknown
	GraphPadding      *int64  `json:"graph_padding_tokens"` // null unknown
}

func newSearch(env *Env) *cobra.Command {
	o := &searchOptions{}
	c := &cobra.Command{
		Use:   "search RUN EXPR",
		Short: "Find the steps of a run that an expression matches, and count them",
		Long: `Asks every step of a run. The expression is written in the language of window conditions; its fields:

` + fieldTable() + `
The longer names that records have for some of them, such as queues.waiting and cudagraph.runtime_mode, mean the same (docs/records.md).

A step that lacks a field which the expression needs does not match; such steps are counted as unknown. Where a stream has an index, stretches
that cannot hold a match are not read; the counts are the same.

It exits with 0 when a step matches, and with 3 when none does.

` + runArgument,
		Example: `  opprof search RUN 'prefill_tokens > 512'
  opprof search latest 'period_ms > 1' --limit 5
  opprof search RUN 'decode_batch_size >= 1' --count
  opprof search --json RUN 'running > 0'`,
		Args:              exactly("RUN", "EXPR"),
		ValidArgsFunction: completeRuns(env),
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), env, args[0], args[1]) },
	}
	flags := c.Flags()
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	flags.BoolVar(&o.count, "count", false, "print only the number of matches")
	flags.IntVar(&o.limit, "limit", defaultFound, "print at most so many matches, the earliest ones")
	flags.StringVar(&o.engine, "engine", "", "search only this engine (default all)")
	return c
}

// fieldTable lists the names that an expression may use.
func fieldTable() string {
	var text string
	for _, f := range query.Fields() {
		text += "  " + f.Name + "  " + f.Text
		if f.Unit != "" {
			text += ", " + f.Unit
		}
		if f.May {
			text += "; may be unknown"
		}
		text += "\n"
	}
	return text
}

func (o *searchOptions) run(ctx context.Context, env *Env, arg, expr string) error {
	switch {
	case o.limit < 1 || o.limit > maxFound:
		return usageErrorf("--limit: want 1 to %d, got %d", maxFound, o.limit)
	case o.json && o.count:
		return usageErrorf("--json holds the count: give one of --json and --count")
	}
	q, err := query.Compile(expr)
	if err != nil {
		return WithCode(err, ExitUsage)
	}
	run, err := env.openRun(arg)
	if err != nil {
		return err
	}
	streams, err := run.ListStreams()
	if err != nil {
		return err
	}
	first := &earliest{limit: o.limit}
	if o.count {
		first.limit = 0
	}
	s := search.New(q, search.Options{Engine: o.engine, CacheDir: env.indexDir(), Final: true, Match: first.take})
	defer s.Close()
	searched := env.searching(ctx, s, streams)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	counts, _ := s.Counts()
	if counts.Steps == 0 && searched == nil {
		searched = WithHint(errors.New(run.Path+" holds no step of "+cmp.Or(o.engine, "any")+" engine that could be read"), "opprof check "+run.Path+" says why")
	}
	if counts.Steps > 0 {
		if err := o.print(env, &searchReport{Schema: 1, Run: run.Path, Expr: expr, Engine: o.engine, Counts: counts, Found: first.sorted()}); err != nil {
			return err
		}
	}
	if searched == nil && counts.Matches == 0 {
		return WithCode(errSilent, ExitCheck)
	}
	return searched
}

// searching extends a search to all that the streams hold, and says how far it is.
func (e *Env) searching(ctx context.Context, s *search.Search, streams []string) error {
	bar := e.newProgress()
	bar.begin()
	done := make(chan error, 1)
	go func() { done <- s.Extend(ctx, streams) }()
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	defer bar.clear()
	for {
		select {
		case err := <-done:
			return err
		case <-ticker.C:
			c, _ := s.Counts()
			bar.tell("search", c.Bytes, c.Size)
		}
	}
}

func (o *searchOptions) print(env *Env, r *searchReport) error {
	switch {
	case o.json:
		return printJSON(env.Stdout, r)
	case o.count:
		return printf(env.Stdout, "%d\n", r.Matches)
	}
	if err := printf(env.Stdout, "%s of %s steps match%s\n", unit.Count(r.Matches), unit.Count(r.Steps), unknownSteps(r.Unknown)); err != nil || len(r.Found) == 0 {
		return err
	}
	t := &table{left: []int{1, 2, 12}} // engine, time, graph
	t.row()
	t.row("step", "engine", "time", "period", "requests", "decode", "prefill", "decode tok", "prefill tok", "preempted", "waiting", "KV", "graph")
	for i := range r.Found {
		t.row(r.Found[i].cells()...)
	}
	if err := t.write(env.Stdout); err != nil {
		return err
	}
	if more := r.Matches - int64(len(r.Found)); more > 0 {
		return printf(env.Stdout, "\n%s more: --limit %d prints them\n", unit.Count(more), min(r.Matches, maxFound))
	}
	return nil
}

func unknownSteps(n int64) string {
	if n == 0 {
		return ""
	}
	return ", " + unit.Count(n) + " unknown: they lack a field"
}

func (f *foundStep) cells() []string {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	graph := "-"
	if f.GraphMode != nil {
		graph = *f.GraphMode + " " + n(*f.GraphBucket)
	}
	return []string{n(f.StepIndex), f.EngineID, time.Unix(0, f.TimeNS).Format("2006-01-02 15:04:05.000"), unit.Known(f.PeriodNS, unit.Duration), n(f.ScheduledRequests),
		n(f.DecodeBatchSize), n(f.PrefillRequests), n(f.DecodeTokens), n(f.PrefillTokens), n(f.Preemptions), n(f.Waiting),
		strconv.FormatFloat(100*f.KVUsage, 'f', 1, 64) + " %", graph}
}

// earliest keeps the earliest matches.
type earliest struct {
	limit int
	found []foundStep
	full  bool  // found holds the limit of them, sorted, and perhaps later ones behind
	last  int64 // time of the latest of those
}

// take keeps a match if it is one of the earliest so far.
func (e *earliest) take(s *record.Step, p store.Place) {
	if e.limit == 0 || e.full && p.TimeNS >= e.last {
		return
	}
	e.found = append(e.found, newFoundStep(s, p))
	if len(e.found) == 2*e.limit || !e.full && len(e.found) == e.limit {
		e.found = e.sorted()
		e.full, e.last = true, e.found[e.limit-1].TimeNS
	}
}

func byTime(a, b foundStep) int { return cmp.Compare(a.TimeNS, b.TimeNS) }

// sorted are the earliest matches by time.
func (e *earliest) sorted() []foundStep {
	slices.SortStableFunc(e.found, byTime)
	return list(e.found[:min(len(e.found), e.limit)])
}

func newFoundStep(s *record.Step, p store.Place) foundStep {
	f := foundStep{EngineID: s.EngineID, StepIndex: s.StepIndex, TimeNS: p.TimeNS, ScheduledRequests: s.ScheduledRequests, DecodeBatchSize: s.DecodeBatchSize,
		PrefillRequests: s.PrefillRequests, PrefillTokens: s.PrefillTokens, DecodeTokens: s.DecodeTokens, Preemptions: s.Preemptions,
		Running: s.Queues.Running, Waiting: s.Queues.Waiting, KVUsage: s.KV.Usage}
	if p.PeriodNS >= 0 {
		f.PeriodNS = &p.PeriodNS
	}
	if s.Known(record.HasGraph) {
		mode, bucket, padding := s.Graph.Mode.String(), s.Graph.BucketTokens, s.Graph.PaddingTokens
		f.GraphMode, f.GraphBucket, f.GraphPadding = &mode, &bucket, &padding
	}
	return f
}
