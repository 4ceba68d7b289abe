package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"opprof/cmd/session"
	"opprof/engine/alert"
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/tui/chart"
)

// farewell is what stays on the terminal when the screen is left: what was seen, and where the files are.
func farewell(s *session.Session, watched time.Duration) (string, error) {
	frame, err := s.Frame(context.Background(), store.Query{SpanNS: store.RateSpanNS, Columns: 1})
	if err != nil {
		return "", err
	}
	run := s.Run()
	lines := [][2]string{
		{"run", run.ID + ", " + unit.Counted(frame.Run.Counts.Steps, "step") + ", watched for " + unit.Duration(int64(watched))},
		{"warnings", warningList(s.Warnings())},
	}
	if run.Kind == session.KindDemo {
		lines = append(lines, [2]string{"files", "removed: a demo leaves none"})
	} else {
		lines = append(lines, [2]string{"files", run.Path}, [2]string{"again", "opprof review " + run.Path})
	}
	return lastLines(lines), nil
}

// lastLines are names with what is said of each.
func lastLines(lines [][2]string) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%-9s%s\n", l[0], chart.Sanitize(l[1]))
	}
	return b.String()
}

// warningList names the rules that were broken, with counts.
func warningList(list []alert.Warning) string {
	if len(list) == 0 {
		return "none"
	}
	var parts []string
	for _, w := range list {
		parts = append(parts, fmt.Sprintf("%s (%s %s)", w.Rule, unit.Count(w.Count), w.Unit))
	}
	return strings.Join(parts, ", ")
}
