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
  opprof report RUN --out RUN/report.html    # for a browser
  opprof report latest --json`,
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
	o.preferences = bindPrinted(flags)
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

// prints reports whether the report goes to standard output.
func (o *reportOptions) prints() bool { return o.out == "" || o.out == "-" }

func (o *reportOptions) run(ctx context.Context, env *Env, arg string) error {
	if o.html && o.markdown || o.html && o.json || o.markdown && o.json {
		return usageErrorf("--html, --md and --json are three forms of a report: give one of them")
	}
	p, _, err := o.preferences.resolve(env)
	if err != nil {
		return err
	}
	run, err := env.openRun(arg)
	if err != nil {
		return err
	}
	if !o.prints() {
		if _, err := outTarget(o.out, o.force, run.Streams); err != nil { // before anything is read
			return err
		}
	}
	s := session.Open(ctx, run, session.Options{Kind: session.KindFinished, Running: env.running(run.Root), Now: env.Now, IndexDir: env.indexDir(), NotesDir: env.notesDir(), Limits: &p.limits})
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
	if o.prints() {
		return write(env.Stdout)
	}
	if err := writeOut(o.out, o.force, run.Streams, write); err != nil {
		return err
	}
	return tellWritten(env.Stdout, o.out)
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
	kept, err := s.Notes(ctx)
	if err != nil {
		return nil, err
	}
	page := newPage(s.Run(), frame, s.Warnings(), kept.Notes)
	r := &runreport.Report{Schema: page.Schema, Run: page.Run, Manifest: contents.Manifest, Frame: page.Frame, Warnings: page.Warnings, Notes: page.Notes,
		Windows: runreport.Windows(windows), Checks: []runreport.StreamCheck{}}
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
		r.Checks = append(r.Checks, runreport.StreamCheck{Check: found.Files[i].Check, Error: found.Files[i].Error})
	}
	return nil
}
