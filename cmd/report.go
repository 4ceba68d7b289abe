package cmd

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"opprof/campaign/runreport"
	"opprof/cmd/session"
	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/panel"
)

type reportOptions struct {
	html, markdown, json bool
	out                  string
	force, check         bool
	preferences          *preferenceFlags
}

// checkedBytes is the size of records up to which they are checked unasked: a second or two of reading.
const checkedBytes = 1 << 30

// reportColumns is into how many stretches of time a report cuts a run, at most.
const reportColumns = 120

func newReport(env *Env) *cobra.Command {
	o := &reportOptions{}
	c := &cobra.Command{
		Use:   "report RUN",
		Short: "Write a report of a run: one HTML file, Markdown or JSON",
		Long: `Writes what the screen shows of a whole run, for readers who have no terminal: the run, its steps over time, percentiles, histograms, graph modes,
memory, queues, profiler windows with their breakdown, and whether the records hold together. The HTML file holds all it needs and asks nothing of
the network; point at a plot for its values.

The form is that of --out's ending (.html, .md, .json), or as the flag says; without --out Markdown is printed. Records of more than 1 GB are
checked with --check only; of a long run that was reviewed before, nothing but its index and its end is read otherwise.

` + runArgument,
		Example: `  opprof report RUN
  opprof report RUN --html > run.html
  opprof report latest --json
  opprof report RUN --out run.html --force`,
		Args:              exactly("RUN"),
		ValidArgsFunction: completeRuns(env),
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), env, args[0]) },
	}
	flags := c.Flags()
	flags.BoolVar(&o.html, "html", false, "one HTML file")
	flags.BoolVar(&o.markdown, "md", false, "Markdown, without the plots")
	flags.BoolVar(&o.json, "json", false, "one JSON object")
	flags.StringVarP(&o.out, "out", "o", "", "write to a `FILE` instead of printing; - prints")
	flags.BoolVar(&o.force, "force", false, "with --out: replace a file that exists")
	flags.BoolVar(&o.check, "check", false, "check the records however large they are")
	o.preferences = bindPreferences(flags)
	c.MarkFlagsMutuallyExclusive("html", "md", "json")
	return c
}

// form is what is written: html, md or json.
func (o *reportOptions) form() string {
	switch ending := strings.ToLower(filepath.Ext(o.out)); {
	case o.html, !o.markdown && !o.json && (ending == ".html" || ending == ".htm"):
		return "html"
	case o.json, !o.markdown && ending == ".json":
		return "json"
	}
	return "md"
}

func (o *reportOptions) run(ctx context.Context, env *Env, arg string) error {
	p, _, err := o.preferences.resolve(env)
	if err != nil {
		return err
	}
	run, err := env.openRun(arg)
	if err != nil {
		return err
	}
	s := session.Open(ctx, run, session.Options{Kind: session.KindFinished, Now: env.Now, IndexDir: env.indexDir(), Limits: &p.limits})
	defer func() { _ = s.Close() }()
	report, err := gatherReport(ctx, s)
	if err != nil {
		return err
	}
	report.Zone = p.location()
	if err := o.checkRecords(ctx, run, report); err != nil {
		return err
	}
	if report.Frame.Run.Counts.Steps == 0 && len(report.Windows) == 0 && len(run.Traces) == 0 {
		defer env.note(fmt.Errorf("%s holds no step and no trace that could be read", run.Path))
	}
	write := func(w io.Writer) error {
		switch o.form() {
		case "html":
			return report.HTML(w)
		case "json":
			return printJSON(w, report)
		}
		return report.Markdown(w)
	}
	if o.out == "" || o.out == "-" {
		return write(env.Stdout)
	}
	return writeOut(o.out, o.force, run.Streams, write)
}

// gatherReport waits until all of a run is known and takes it together.
func gatherReport(ctx context.Context, s *session.Session) (*runreport.Report, error) {
	if err := s.Wait(ctx); err != nil {
		return nil, err
	}
	if err := s.WaitWindows(ctx); err != nil {
		return nil, err
	}
	frame, err := s.Frame(ctx, store.Query{Columns: reportColumns})
	if err != nil {
		return nil, err
	}
	windows, err := s.Windows(ctx, nil)
	if err != nil {
		return nil, err
	}
	contents, err := s.Contents(ctx)
	if err != nil {
		return nil, err
	}
	page := newPage(s.Run(), frame, s.Warnings())
	r := &runreport.Report{Schema: page.Schema, Run: page.Run, Manifest: contents.Manifest, Frame: page.Frame, Warnings: page.Warnings,
		Windows: runreport.Windows(windows), Checks: []runreport.Check{}}
	for _, d := range panel.Definitions() {
		r.Definitions = append(r.Definitions, runreport.Definition{Part: string(d.Panel), Name: d.Name, Unit: d.Unit, Source: d.Source, Text: d.Text})
	}
	return r, nil
}

// checkRecords reads every record and says what must hold and does not, unless that would take long.
func (o *reportOptions) checkRecords(ctx context.Context, run *rundir.Run, r *runreport.Report) error {
	var bytes int64
	for _, s := range r.Run.Streams {
		bytes += s.Bytes
	}
	if bytes > checkedBytes && !o.check {
		r.Unchecked = fmt.Sprintf("the records have %s; --check, or opprof check, reads them all", unit.Bytes(bytes))
		return nil
	}
	var found session.CheckReport
	if err := found.AddRun(ctx, run); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.Unchecked = err.Error()
		return nil
	}
	for i := range found.Files {
		r.Checks = append(r.Checks, runreport.Check{Check: found.Files[i].Check, Error: found.Files[i].Error})
	}
	return nil
}
