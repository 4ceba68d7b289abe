// Command read is OpProf's side of the reading benchmark: it reads a Layer-1 stream and does with it what the named level says.
//
//	decode  every field of every line
//	check   and every invariant
//	store   and every aggregate that the screen shows, to the frame of the whole run
//
// It prints the answer that all contenders have to agree on: steps, sum of prefill tokens, largest KV usage.
package main

import (
	"fmt"
	"os"

	"opprof/engine/record"
	"opprof/engine/store"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: read decode|check|store FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "read:", err)
		os.Exit(1)
	}
}

func run(level, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var (
		reader  = record.NewReader(f, path)
		checker = record.NewChecker()
		steps   = store.New(store.Options{})
		check   = level == "check" || level == "store"
		keep    = level == "store"

		n, tokens int64
		usage     float64
	)
	for reader.Scan() {
		l := reader.Line()
		if check {
			checker.Add(l)
		}
		if keep {
			steps.Line(0, l)
		}
		if l.Kind == record.KindStep {
			n++
			tokens += l.Step.PrefillTokens
			usage = max(usage, l.Step.KV.Usage)
		}
	}
	if err := reader.Err(); err != nil {
		return err
	}
	if c := checker.Result(); check && (!c.OK() || c.BadLines > 0) {
		return fmt.Errorf("the stream does not hold its invariants: %+v", c)
	}
	if keep {
		frame := steps.Snapshot().Frame(store.Query{Columns: 180})
		c := frame.Run.Counts
		n, tokens, usage = c.Steps, c.PrefillTokens, c.KVUsageMax
	}
	fmt.Println(n, tokens, usage)
	if share := reader.Stats().FallbackShare(); share > 0 {
		return fmt.Errorf("%.2f %% of the steps are not in the writer's layout", 100*share)
	}
	return nil
}
