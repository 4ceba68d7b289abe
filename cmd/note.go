package cmd

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opprof/cmd/session"
	"opprof/engine/notes"
	"opprof/engine/unit"
)

type noteOptions struct {
	list   bool
	json   bool
	step   int64
	engine string
	remove string
}

// noteList is what `note --json` prints.
type noteList struct {
	Schema int64  `json:"schema"`
	Run    string `json:"run"` // its path
	notes.List
}

func newNote(env *Env) *cobra.Command {
	o := &noteOptions{}
	c := &cobra.Command{
		Use:   "note RUN [TEXT…]",
		Short: "Write a note about a run or one of its steps, or list its notes",
		Long: `Keeps a line of text in the run's folder, in notes.jsonl: about the whole run, or with --step about a step, which it bookmarks. Without a
text it lists what there is. The review page shows the same notes. A run whose folder cannot be written keeps them under the user's state
folder, and says so.

` + runArgument,
		Example: `  opprof note RUN 'load generator ran on the same host'
  opprof note RUN --step 120 'first long prefill'
  opprof note RUN
  opprof note RUN --json`,
		Args:              someRun,
		ValidArgsFunction: completeRuns(env),
		RunE: func(c *cobra.Command, args []string) error {
			return o.run(c.Context(), env, args[0], strings.Join(args[1:], " "))
		},
	}
	flags := c.Flags()
	flags.BoolVar(&o.list, "list", false, "list the notes, as without a text")
	flags.BoolVar(&o.json, "json", false, "list the notes as one JSON object")
	flags.Int64Var(&o.step, "step", 0, "the step that the note is about; without a text it is a bookmark")
	flags.StringVar(&o.engine, "engine", "", "with --step: the engine of the step (default the first that has it)")
	flags.StringVar(&o.remove, "delete", "", "delete the note with this `id`, as --list prints it")
	return c
}

func someRun(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return WithHint(usageErrorf("%s takes RUN and a text, got nothing", c.CommandPath()), c.CommandPath()+" --help")
	}
	return nil
}

func (o *noteOptions) run(ctx context.Context, env *Env, arg, text string) error {
	writes := text != "" || o.step != 0
	switch {
	case o.step < 0:
		return usageErrorf("--step: want a step index, got %d", o.step)
	case writes && (o.list || o.json || o.remove != ""):
		return usageErrorf("a note is written, or notes are listed or deleted: give one of a text, --list, --json and --delete")
	}
	run, err := env.openRun(arg)
	if err != nil {
		return err
	}
	book := notes.NewBook(run.Root, env.notesDir(), env.Now)
	switch {
	case writes:
		n := notes.Note{Text: text}
		if o.step != 0 {
			if n, err = o.bookmark(ctx, env, arg, text); err != nil {
				return err
			}
		}
		_, where, err := book.Add(n)
		if err != nil {
			return err
		}
		return printf(env.Stdout, "kept in %s\n", where)
	case o.remove != "":
		return o.deleted(env, book)
	}
	list, err := book.Read()
	if o.json {
		return errors.Join(err, printJSON(env.Stdout, noteList{1, run.Path, *list}))
	}
	return errors.Join(err, notesTable(list.Notes, time.Local).write(env.Stdout), badNotes(list))
}

// badNotes says which lines were passed over.
func badNotes(l *notes.List) error {
	if l.BadLines == 0 {
		return nil
	}
	return errors.New(unit.Count(l.BadLines) + " lines are no notes; the first: " + l.FirstBad)
}

// bookmark is a note on a step of the run.
func (o *noteOptions) bookmark(ctx context.Context, env *Env, arg, text string) (notes.Note, error) {
	run, err := env.openRun(arg)
	if err != nil {
		return notes.Note{}, err
	}
	s := session.Open(ctx, run, session.Options{Kind: session.KindFinished, Now: env.Now, IndexDir: env.indexDir()})
	defer func() { _ = s.Close() }()
	if err := s.Wait(ctx); err != nil {
		return notes.Note{}, err
	}
	engine, atNS, ok, err := s.StepOf(ctx, o.engine, o.step)
	if err != nil {
		return notes.Note{}, err
	}
	if !ok {
		return notes.Note{}, usageErrorf("--step: the run has no step %d", o.step)
	}
	step := o.step
	return notes.Note{Engine: engine, Step: &step, AtNS: atNS, Text: text}, nil
}

func (o *noteOptions) deleted(env *Env, book *notes.Book) error {
	list, err := book.Read()
	if err != nil {
		return err
	}
	for _, n := range list.Notes {
		if n.ID == o.remove {
			if err := book.Delete(n); err != nil {
				return err
			}
			return printf(env.Stdout, "deleted\n")
		}
	}
	return usageErrorf("--delete: there is no note %q", o.remove)
}

// notesTable lists notes.
func notesTable(list []notes.Note, zone *time.Location) *table {
	t := &table{}
	if len(list) == 0 {
		t.line("no notes")
		return t
	}
	for _, row := range noteRows(list, zone, true) {
		t.rows = append(t.rows, []string{row})
	}
	return t
}

// noteRows are the notes under a head, lined up; with their ids where these are wanted.
func noteRows(list []notes.Note, zone *time.Location, ids bool) []string {
	cells := [][]string{{"id", "step", "engine", "time", "note"}}
	for _, n := range list {
		step, at := "the run", unit.Unknown
		if n.Step != nil {
			step = unit.Count(*n.Step)
		}
		if n.AtNS != 0 {
			at = unit.Date(n.AtNS, zone)
		}
		text := n.Text
		if text == "" {
			text = "(bookmark)"
		}
		cells = append(cells, []string{n.ID, step, orDash(n.Engine), at, text})
	}
	widths := make([]int, 5)
	for k := range cells {
		if !ids {
			cells[k] = cells[k][1:]
		}
		row := cells[k]
		for i, c := range row {
			row[i] = printable(c)
			widths[i] = max(widths[i], len([]rune(row[i])))
		}
	}
	var out []string
	for _, row := range cells {
		text := ""
		for i, c := range row {
			text += c + strings.Repeat(" ", widths[i]-len([]rune(c))+2)
		}
		out = append(out, strings.TrimRight(text, " "))
	}
	return out
}
