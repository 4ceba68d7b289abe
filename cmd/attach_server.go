package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"opprof/cmd/session"
	"opprof/engine/meter"
	"opprof/engine/unit"
	"opprof/engine/vllm"
)

// isServer reports whether an argument names a server and not a run.
func isServer(arg string) bool {
	return strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://") || strings.HasPrefix(arg, "unix:") || isSocket(arg)
}

// serverReading is what attach URL --once --json prints.
type serverReading struct {
	Schema int64  `json:"schema"`
	Source string `json:"source"` // where the figures come from and what they lack
	meter.Reading
}

// onceRounds is how often a server is asked before a summary is printed: rates need two answers.
const onceRounds = 3

// attachServer shows a server of which only the address is known.
func (o *attachOptions) attachServer(ctx context.Context, env *Env, arg string) error {
	if o.watch.url != "" || o.watch.traces != "" {
		return usageErrorf("%s is a server already: --url and --traces stand beside the folder of its records", arg)
	}
	address, err := serverAddress(arg)
	if err != nil {
		return err
	}
	if _, err := o.screen.resolve(env); err != nil {
		return err
	}
	s := session.OpenServer(ctx, address, env.apiKey(), env.Now)
	if !o.screen.plain(env) {
		return errors.Join(openList(ctx, env, &o.screen, s, true), s.Close())
	}
	return errors.Join(o.printServer(ctx, env, s), s.Close())
}

// apiKey is the key of somebody else's server. It comes from the environment alone and is shown nowhere.
func (e *Env) apiKey() string { return cmp.Or(e.Getenv("OPPROF_API_KEY"), e.Getenv("VLLM_API_KEY")) }

func (o *attachOptions) printServer(ctx context.Context, env *Env, s *session.Server) error {
	for rounds := 1; rounds <= onceRounds; rounds++ {
		if err := s.Wait(ctx, rounds); err != nil {
			return err
		}
		if r, _ := s.Reading(ctx); r.State == meter.Silent || r.State == meter.Other {
			break // it has been said once
		}
	}
	r, err := s.Reading(ctx)
	if err != nil {
		return err
	}
	if o.screen.json {
		err = printJSON(env.Stdout, serverReading{1, meter.Source, *r})
	} else if r.State == meter.Answers {
		err = printReading(env.Stdout, r, env.Now())
	}
	if err == nil && r.State != meter.Answers {
		return WithHint(fmt.Errorf("cannot watch the server at %s: %s", r.Addr, printable(r.Problem)), "is this its address, and does it run?")
	}
	return err
}

// printReading writes the figures as the screen shows them.
func printReading(w io.Writer, r *meter.Reading, now time.Time) error {
	t := &table{}
	about := func(name, format string, args ...any) { t.line("%-9s %s", name, fmt.Sprintf(format, args...)) }
	about("server", "%s", r.Addr)
	about("vLLM", "%s", unit.Known(r.Version, printable))
	about("models", "%s", modelNames(r.Models))
	about("state", "%s, %s ago", r.State, now.Sub(time.Unix(0, r.AtNS)).Round(time.Millisecond))
	about("profile", "%s", unit.Known(r.Profile, func(mounted bool) string {
		if mounted {
			return "endpoints mounted"
		}
		return "endpoints not mounted"
	}))
	about("source", "%s", meter.Source)
	about("", "%s", meter.Remedy)
	for _, n := range r.Notes {
		about("note", "%s", n)
	}
	if r.Problem != "" {
		about("problem", "%s", r.Problem)
	}
	if err := t.write(w); err != nil {
		return err
	}
	figures := &table{}
	figures.row()
	figures.row("figure", "now", "since start", "metric")
	for _, row := range r.Rows() {
		figures.row(row.Name, row.Now, row.Total, row.Metric)
	}
	recent := ", last " + unit.Duration(r.RecentNS)
	figures.row()
	figures.row("latency", "n", "p50", "p90", "p99", "buckets of")
	for _, l := range r.LatencyRows() {
		figures.row(l.Name+recent, l.Recent[0], l.Recent[1], l.Recent[2], l.Recent[3], l.Metric)
		figures.row(l.Name+", since start", l.Whole[0], l.Whole[1], l.Whole[2], l.Whole[3], l.Metric)
	}
	return figures.write(w)
}

func modelNames(models []vllm.ServedModel) string {
	var names []string
	for _, m := range models {
		names = append(names, m.ID)
	}
	return cmp.Or(strings.Join(names, ", "), unit.Unknown)
}
