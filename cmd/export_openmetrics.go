package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"opprof/campaign/export/openmetrics"
	"opprof/engine/tail"
	"opprof/engine/trap"
)

type exportOpenMetricsOptions struct {
	listen   string
	textfile string
	every    time.Duration
}

func newExportOpenMetrics(env *Env) *cobra.Command {
	o := &exportOpenMetricsOptions{}
	c := &cobra.Command{
		Use:   "openmetrics RUN",
		Short: "Say what a run tells as OpenMetrics text, once or for Prometheus to read",
		Long: `Prints OpenMetrics text: vLLM's own names where it has them (vllm:num_requests_running, vllm:kv_cache_usage_perc, …), opprof_* for the step
period, graph modes, padding, drops and gaps. Counters count from the run's first record and only grow. docs/export.md lists the metrics.

--listen serves them at http://ADDRESS/metrics and follows the run until it is interrupted. --textfile writes them to a file for the textfile
collector of node_exporter, which reads *.prom: once, or with --every until it is interrupted.

` + runArgument,
		Example: `  opprof export openmetrics latest
  opprof export openmetrics latest --listen 127.0.0.1:9400
  opprof export openmetrics latest --textfile /var/lib/node_exporter/opprof.prom --every 15s`,
		Args:              exactly("RUN"),
		ValidArgsFunction: completeRuns(env),
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), env, args[0]) },
	}
	c.Flags().StringVar(&o.listen, "listen", "", "serve on this `address`, such as 127.0.0.1:9400; anyone who reaches it can read the metrics")
	c.Flags().StringVar(&o.textfile, "textfile", "", "write to this `file`, which is replaced whole")
	c.Flags().DurationVar(&o.every, "every", 0, "with --textfile: write so often, until interrupted; 0 writes once")
	return c
}

func (o *exportOpenMetricsOptions) run(ctx context.Context, env *Env, arg string) error {
	switch {
	case o.listen != "" && o.textfile != "":
		return usageErrorf("--listen and --textfile are two ways to publish: give one of them")
	case o.every < 0, o.every > 0 && o.every < time.Second:
		return usageErrorf("--every %s: want a second or more, or 0 to write once", o.every)
	case o.every > 0 && o.textfile == "":
		return usageErrorf("--every needs --textfile")
	}
	run, err := env.openRun(arg)
	if err != nil {
		return err
	}
	state := openmetrics.New(run.Describe().Model)
	tailer := tail.New(run.ListStreams, tail.Options{Now: env.Now, PassBytes: exportPassBytes})
	defer tailer.Close()
	if o.listen != "" {
		return o.serve(ctx, env, state, tailer)
	}
	if err := readOnce(ctx, tailer, state, o.every == 0); err != nil {
		return err
	}
	if o.textfile == "" {
		return state.Write(env.Stdout)
	}
	if err := state.WriteFile(o.textfile); err != nil || o.every == 0 {
		return err
	}
	return o.rewrite(ctx, state, tailer)
}

const exportPassBytes = 64 << 20

// readOnce reads what is there. The torn end of a run that is not followed is counted.
func readOnce(ctx context.Context, tailer *tail.Tailer, state *openmetrics.State, flush bool) error {
	for {
		progress, err := tailer.Poll(ctx, state)
		if err != nil {
			return err
		}
		if progress.Err != nil {
			return fmt.Errorf("cannot list the run's records: %w", progress.Err)
		}
		if !progress.More {
			break
		}
	}
	if flush {
		return tailer.Flush(ctx, state)
	}
	return nil
}

// rewrite writes the file again and again.
func (o *exportOpenMetricsOptions) rewrite(ctx context.Context, state *openmetrics.State, tailer *tail.Tailer) error {
	ticker := time.NewTicker(o.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := readOnce(ctx, tailer, state, false); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if err := state.WriteFile(o.textfile); err != nil {
			return err
		}
	}
}

// serve follows the run and answers requests until ctx ends. Nothing is answered before what there was at the start has been read, so that a
// restarted exporter does not look like a restarted server.
func (o *exportOpenMetricsOptions) serve(ctx context.Context, env *Env, state *openmetrics.State, tailer *tail.Tailer) error {
	at, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return WithHint(fmt.Errorf("cannot serve metrics: %w", err), "name a free address, such as --listen 127.0.0.1:0")
	}
	if tcp, ok := at.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		env.note(fmt.Errorf("%s is reached from other machines: anyone there can read the metrics", at.Addr()))
	}
	if err := readOnce(ctx, tailer, state, false); err != nil {
		_ = at.Close()
		return err
	}
	if err := printf(env.Stdout, "serving http://%s/metrics\n", at.Addr().String()); err != nil {
		_ = at.Close()
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	followed := make(chan error, 1)
	go func() {
		defer stop()
		followed <- trap.Run(func() error { return tailer.Run(ctx, state) })
	}()
	err = openmetrics.Serve(ctx, at, state.Write)
	stop()
	if failed := <-followed; err == nil && !errors.Is(failed, context.Canceled) {
		err = failed
	}
	return err
}
