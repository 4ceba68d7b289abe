package cmd

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"opprof/engine/control"
	"opprof/engine/rundir"
	"opprof/engine/supervisor"
)

// listedRun is one run as `list --json` prints it.
type listedRun struct {
	ID       string   `json:"id"`
	Path     string   `json:"path"`
	Campaign string   `json:"campaign"` // its campaign's folder, "" for none
	State    string   `json:"state"`    // as of status; recorded for a run that opprof did not launch
	Reason   string   `json:"reason"`
	Model    string   `json:"model"`      // "" unknown
	TP       *int64   `json:"tp"`         // null unknown
	Windows  *int     `json:"windows"`    // armed; null for a run that opprof did not launch
	Touched  int64    `json:"touched_ns"` // newest modification, ns since 1970
	Seen     []string `json:"problems"`
}

// runList is what `list --json` prints.
type runList struct {
	Schema int64       `json:"schema"`
	Root   string      `json:"root"`
	Runs   []listedRun `json:"runs"` // the run begun last first
}

func newList(env *Env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the runs and how they stand",
		Example: "  opprof list\n  opprof list --json",
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := env.list(c.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(env.Stdout, list)
			}
			t := &table{left: []int{1, 4}} // state, written
			t.row("run", "state", "tp", "windows", "written")
			for _, r := range list.Runs {
				tp, windows := "-", "-"
				if r.TP != nil {
					tp = strconv.FormatInt(*r.TP, 10)
				}
				if r.Windows != nil {
					windows = strconv.Itoa(*r.Windows)
				}
				t.row(r.ID, control.Word(r.State, r.Reason), tp, windows, time.Unix(0, r.Touched).Format(time.DateTime))
			}
			return t.write(env.Stdout)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// stateRecorded stands for runs of which only the files are known.
const stateRecorded = "recorded"

func (e *Env) list(ctx context.Context) (runList, error) {
	root, err := e.places().Runs()
	if err != nil {
		return runList{}, err
	}
	found, err := rundir.List(root)
	if err != nil {
		return runList{}, err
	}
	out := runList{Schema: 1, Root: root, Runs: []listedRun{}}
	for _, l := range found {
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		out.Runs = append(out.Runs, e.listed(ctx, l))
	}
	return out, nil
}

func (e *Env) listed(ctx context.Context, l rundir.Listed) listedRun {
	r := listedRun{ID: l.ID, Path: l.Path, Campaign: l.Campaign, State: stateRecorded, Touched: touched(l.Path).UnixNano(), Seen: list(l.Problems)}
	if m := l.Manifest; m != nil {
		r.Model = m.Model.Name
		n := len(m.Windows)
		r.Windows = &n
		if m.Parallel.TP > 0 {
			r.TP = &m.Parallel.TP
		}
	}
	stand, err := supervisor.Stand(l.Path)
	if err != nil {
		return r
	}
	status := stand.Status
	if c := reach(ctx, absolutePath(l.Path), true); c != nil {
		defer c.Close()
		if live, err := c.Status(ctx); err == nil {
			status = live
		}
	}
	n := len(status.Windows)
	r.State, r.Reason, r.Windows = status.State, status.Reason, &n
	return r
}
