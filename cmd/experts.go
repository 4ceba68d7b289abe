package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"opprof/engine/regular"
	"opprof/engine/rundir"
	"opprof/engine/unit"
	"opprof/traces/experts"
)

type expertsOptions struct {
	json      bool
	markdown  bool
	experts   int
	ranks     int
	placement string
}

func newExperts(env *Env) *cobra.Command {
	o := &expertsOptions{}
	c := &cobra.Command{
		Use:   "experts PATH…",
		Short: "Say how evenly tokens were routed to experts, by layer and rank",
		Long: `Reads routed experts: responses of a server started with --enable-return-routed-experts (JSON, or JSON lines), and arrays saved with
numpy.save. A folder stands for the .npy, .json and .jsonl files below it, a run for those of its experts folder, a campaign for those of its
runs. All files are counted together, exactly. What is damaged is left out and named.

Entropy is in bits and as a share of the even load's; max/mean is the busiest expert's load over the mean; CV is the standard deviation over
the mean; top-k is the share of choices that the k busiest experts took, k being the experts a token. With --ep, loads are also summed over
the ranks of a placement. Ids are logical: from before the server rebalances experts.`,
		Example: `  opprof experts RUN --experts 128
  opprof experts response.json --experts 128 --ep 4
  opprof experts --json RUN | jq '.by_layer[].max_over_mean'`,
		Args: atLeastOne("PATH"),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), env, args) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	c.Flags().BoolVar(&o.markdown, "md", false, "print the tables as Markdown")
	c.Flags().IntVar(&o.experts, "experts", 0, "experts of a layer; 0 takes the largest id seen")
	c.Flags().IntVar(&o.ranks, "ep", 0, "expert-parallel ranks to spread the load over")
	c.Flags().StringVar(&o.placement, "placement", "contiguous", "contiguous, round_robin, or a JSON `file`: a list of ranks with their experts, or one such list for each layer")
	return c
}

func (o *expertsOptions) run(ctx context.Context, env *Env, args []string) error {
	switch {
	case o.json && o.markdown:
		return usageErrorf("--json and --md are two ways to print: give one of them")
	case o.experts < 0 || o.experts > experts.MaxExperts:
		return usageErrorf("--experts %d: expected 1 to %d, or 0 when not known", o.experts, experts.MaxExperts)
	case o.ranks < 0:
		return usageErrorf("--ep %d: expected a number of ranks", o.ranks)
	}
	var paths []string
	for _, arg := range args {
		found, err := env.findExperts(arg)
		if err != nil {
			return err
		}
		paths = append(paths, found...)
	}
	load := experts.NewLoad(o.experts)
	files, err := experts.ReadFiles(ctx, paths, load)
	if err != nil {
		return err
	}
	placement, err := o.place(load)
	if err != nil {
		return err
	}
	report := experts.NewReport(load, files, placement)
	if o.json {
		err = printJSON(env.Stdout, report)
	} else {
		err = expertsDocument(&report).write(env.Stdout, o.markdown)
	}
	if err == nil && report.Arrays == 0 {
		return errors.New("no routed experts could be read")
	}
	return err
}

// findExperts takes a path as it is, and looks for a run by that name only where there is none.
func (e *Env) findExperts(arg string) ([]string, error) {
	if runs := runsOfCampaign(arg); len(runs) > 0 {
		return campaignExperts(arg, runs)
	}
	if _, err := os.Stat(arg); err == nil {
		return experts.Find(arg)
	}
	run, err := e.openRun(arg)
	if err != nil {
		return nil, err
	}
	return experts.Find(run.Root)
}

// campaignExperts are the files of the runs of a campaign that collected routed experts.
func campaignExperts(campaign string, runs []string) ([]string, error) {
	var out []string
	for _, run := range runs {
		if st, err := os.Stat(filepath.Join(run, rundir.ExpertsName)); err != nil || !st.IsDir() {
			continue
		}
		found, err := experts.Find(run)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("none of the %s of campaign %s has collected routed experts", unit.Counted(len(runs), "run"), campaign)
	}
	return out, nil
}

// place is the placement that the flags ask for; nil without ranks.
func (o *expertsOptions) place(l *experts.Load) (*experts.Placement, error) {
	n, _ := l.Experts()
	fromFile := !slices.Contains([]string{"contiguous", "round_robin"}, o.placement)
	if l.Arrays == 0 || !fromFile && o.ranks == 0 {
		return nil, nil
	}
	var p experts.Placement
	var err error
	switch {
	case fromFile:
		var text []byte
		if text, err = regular.Read(o.placement, settingsMax); err != nil {
			return nil, WithCode(fmt.Errorf("cannot read placement: %w", err), ExitUsage)
		}
		p, err = experts.ParsePlacement(o.placement, text, n, l.Layers)
		if err == nil && o.ranks != 0 && o.ranks != p.Ranks {
			err = fmt.Errorf("--ep %d: placement %s has %d ranks", o.ranks, o.placement, p.Ranks)
		}
	case o.placement == "round_robin":
		p, err = experts.RoundRobin(n, o.ranks)
	default:
		p, err = experts.Contiguous(n, o.ranks)
	}
	return &p, WithCode(err, ExitUsage)
}

func expertsDocument(r *experts.Report) *document {
	from := parenthesis(map[string]string{"largest_id": "the largest id"}[r.ExpertsFrom])
	head := section{title: "Routed experts"}
	head.note("%s of %s in %s", unit.Counted(r.Tokens, "token"), unit.Counted(r.Arrays, "array"), unit.Counted(len(r.Files), "file"))
	if r.Experts > 0 {
		head.note("%s of %s%s, %d a token", unit.Counted(r.Layers, "layer"), unit.Counted(r.Experts, "expert"), from, r.TopK)
	} else {
		head.note("%s, %s a token; how many a layer has is not known", unit.Counted(r.Layers, "layer"), unit.Counted(r.TopK, "expert"))
	}
	if r.EPRanks > 0 {
		head.note("%s, placement %s", unit.Counted(r.EPRanks, "rank"), r.Placement)
	}
	for _, w := range r.Warnings {
		head.note("%s", w)
	}
	d := &document{sections: []section{head}}
	if r.Arrays > 0 && r.Experts > 0 {
		d.sections = append(d.sections, layerSection(r), heatSection(r))
	}
	if r.EPRanks > 0 {
		d.sections = append(d.sections, rankLoadSection(r))
	}
	problems := section{title: "Not read", head: []string{"file", "why"}, left: map[int]bool{1: true}}
	for _, f := range r.Files {
		for _, p := range f.Problems {
			problems.row(f.Path, p)
		}
	}
	if len(problems.rows) > 0 {
		d.sections = append(d.sections, problems)
	}
	return d
}

func layerSection(r *experts.Report) section {
	s := section{title: "Load by layer", head: []string{"layer", "tokens", "entropy bits", "of even", "max/mean", "CV",
		fmt.Sprintf("top-%d share", r.TopK), "busiest", "choices", "unused", "rank max/mean", "rank CV"}}
	for _, l := range slices.Concat(r.Layer, []experts.LayerReport{r.All}) {
		busiest := "-"
		if l.Busiest != nil {
			busiest = strconv.Itoa(*l.Busiest)
		}
		rankMax, rankCV := "", ""
		if l.EP != nil {
			rankMax, rankCV = decimals(l.EP.MaxOverMean), decimals(l.EP.CV)
		}
		s.row(layerName(l.Layer), unit.Count(l.Tokens), decimals(l.Entropy), unit.Known(l.Evenness, unit.Percent), decimals(l.MaxOverMean), decimals(l.CV),
			unit.Known(l.TopShare, unit.Percent), busiest, unit.Count(l.BusiestN), strconv.Itoa(l.Unused), rankMax, rankCV)
	}
	return s
}

func layerName(layer int) string {
	if layer < 0 {
		return "all"
	}
	return strconv.Itoa(layer)
}

func decimals(v *float64) string {
	return unit.Known(v, func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) })
}

// heatColumns keeps a row within 80 columns.
const heatColumns = 64

// heatSteps are marks for loads relative to the mean: of no load, below a quarter, a half, and so on, and at least four times the mean.
var heatSteps = []struct {
	below float64
	mark  byte
}{{0.25, '.'}, {0.5, ':'}, {0.8, '-'}, {1.25, '='}, {2, '+'}, {4, '#'}}

func heatMark(v float64) byte {
	if v == 0 {
		return ' '
	}
	for _, s := range heatSteps {
		if v < s.below {
			return s.mark
		}
	}
	return '@'
}

func heatSection(r *experts.Report) section {
	s := section{title: "Load of the experts, relative to the mean of the layer", head: []string{"layer", "experts 0 to " + strconv.Itoa(r.Experts-1)}, left: map[int]bool{1: true}}
	columns := min(heatColumns, r.Experts)
	if columns < r.Experts {
		s.note("a column is the mean of %.3g experts", float64(r.Experts)/float64(columns))
	}
	s.note("blank 0, . below 0.25, : 0.5, - 0.8, = 1.25, + 2, # 4, @ 4 and more")
	for _, l := range slices.Concat(r.Layer, []experts.LayerReport{r.All}) {
		var b strings.Builder
		for _, v := range experts.Heat(l.Counts, columns) {
			b.WriteByte(heatMark(v))
		}
		s.row(layerName(l.Layer), "|"+b.String()+strings.Repeat(" ", columns-b.Len())+"|")
	}
	return s
}

func rankLoadSection(r *experts.Report) section {
	s := section{title: "Load of the ranks, all layers", head: []string{"rank", "choices", "of mean"}}
	mean := float64(r.All.Choices) / float64(r.EPRanks)
	for i, v := range r.All.EP.Ranks {
		of := "-"
		if mean > 0 {
			of = strconv.FormatFloat(v/mean, 'f', 3, 64)
		}
		s.row(strconv.Itoa(i), unit.Count(int64(v+0.5)), of)
	}
	return s
}
