package cmd

import (
	"encoding/json"
	"html"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"opprof/campaign/runreport"
	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/engine/unit"
	"opprof/testdata"
)

// command runs a command line that must succeed and gives what it prints.
func command(t *testing.T, words ...string) string {
	t.Helper()
	env, stdout, stderr := memoryEnv(map[string]string{"HOME": t.TempDir(), "OPPROF_TIME_ZONE": "utc"}, words...)
	if code := Main(env); code != ExitOK || stderr.Len() > 0 {
		t.Fatalf("%q: exit %d: %s", words, code, stderr)
	}
	return stdout.String()
}

// htmlRows are the rows of all tables of a page: the cells by the first of them. What several tables have, the last one gives.
func htmlRows(page string) map[string][]string {
	out := map[string][]string{}
	for _, row := range regexp.MustCompile(`(?s)<tr>(.*?)</tr>`).FindAllStringSubmatch(page, -1) {
		var cells []string
		for _, cell := range regexp.MustCompile(`(?s)<t[hd][^>]*>(.*?)</t[hd]>`).FindAllStringSubmatch(row[1], -1) {
			cells = append(cells, html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(cell[1], "")))
		}
		out[cells[0]] = cells[1:]
	}
	return out
}

// markdownRows are those of a Markdown text.
func markdownRows(text string) map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| ") {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
			for i := range cells {
				cells[i] = html.UnescapeString(strings.ReplaceAll(strings.TrimSpace(cells[i]), `\_`, "_"))
			}
			out[cells[0]] = cells[1:]
		}
	}
	return out
}

// screenText is what the test reads of a page.
type screenText struct {
	Run   rundir.Description `json:"run"`
	Frame *store.Frame       `json:"frame"`
}

// expected are figures of a page as review prints it, by the name that a report gives them.
func expected(p *screenText) map[string]string {
	c, q := &p.Frame.Run.Counts, &p.Frame.Run.Period
	decode, told := c.NewDecodeTokens()
	if !told {
		decode = c.DecodeTokens
	}
	out := map[string]string{
		"model": p.Run.Model, "duration": unit.Duration(c.LastNS - c.FirstNS), "first step": unit.Date(c.FirstNS, nil), "state": p.Frame.State.Name,
		"step period p50, ms": unit.Known(q.P50NS, unit.DurationMS), "step period p95, ms": unit.Known(q.P95NS, unit.DurationMS),
		"step period p99, ms": unit.Known(q.P99NS, unit.DurationMS), "step period max, ms": unit.Known(q.MaxNS, unit.DurationMS),
		"steps with a known period": unit.Count(q.N), "stalls": unit.Count(c.Stalls), "steps": unit.Count(c.Steps), "prefill tokens": unit.Count(c.PrefillTokens),
		"decode tokens": unit.Count(decode), "zero-token steps": unit.Count(c.ZeroToken), "running, max": unit.Count(c.RunningMax), "waiting, max": unit.Count(c.WaitingMax),
		"deferred, max": unit.Count(c.DeferredMax), "preemptions": unit.Count(c.Preemptions), "KV usage, max": unit.Percent(c.KVUsageMax),
		"KV usage, mean over steps": unit.Percent(c.KVUsageSum / float64(c.Steps)), "prefix hits of looked-up tokens": unit.Share(c.Local.Hits, c.Local.Queries),
		"gaps and restarts": unit.Count(c.Gaps), "records dropped": unit.Count(p.Frame.Loss.Dropped), "bad lines": unit.Count(p.Frame.Loss.BadLines),
		"first": unit.Count(c.Chunks.First), "middle": unit.Count(c.Chunks.Middle), "final": unit.Count(c.Chunks.Final), "unsplit": unit.Count(c.Chunks.Unsplit),
	}
	for i, edge := range record.ContextEdges() {
		if edge > 2048 { // those below are edges of chunks too
			out[unit.Edge(edge)] = unit.Count(c.ContextHist[i])
		}
	}
	return out
}

// graphText are the modes of graphs, which are an object by their names.
type graphText struct {
	Frame struct {
		Run struct {
			Counts struct {
				Graph map[string]int64 `json:"graph"`
			} `json:"counts"`
		} `json:"run"`
	} `json:"frame"`
}

func reviewed(t *testing.T, text string) (*screenText, map[string]int64) {
	t.Helper()
	var graphs graphText
	if err := json.Unmarshal([]byte(text), &graphs); err != nil {
		t.Fatal(err)
	}
	var p screenText
	text = regexp.MustCompile(`(?s)"graph": \{[^}]*"FULL"[^}]*\}`).ReplaceAllString(text, `"graph": [0,0,0,0,0]`)
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return &p, graphs.Frame.Run.Counts.Graph
}

// A report has the figures of the screen: each is compared with what review --once --json prints.
func TestReportSaysWhatTheScreenSays(t *testing.T) {
	for _, name := range testdata.Recordings() {
		t.Run(name, func(t *testing.T) {
			stream, err := testdata.Recording(name)
			if err != nil {
				t.Fatal(err)
			}
			run := filepath.Join(t.TempDir(), "20261130-m-tp1-0000")
			writeFile(t, filepath.Join(run, "layer1", "opprof-v1-dp0-pid7-1.jsonl"), string(stream))
			review := command(t, "review", run, "--once", "--json")
			p, graphs := reviewed(t, review)
			want := expected(p)
			for mode, n := range graphs {
				if mode != "other" && mode != "unknown" || n > 0 {
					want[mode] = unit.Count(n)
				}
			}
			for form, rows := range map[string]map[string][]string{"html": htmlRows(command(t, "report", run, "--html")), "md": markdownRows(command(t, "report", run, "--md"))} {
				for figure, value := range want {
					if got := rows[figure]; len(got) == 0 || got[0] != value {
						t.Errorf("%s: %s is %q in the report and %s on the screen", form, figure, got, value)
					}
				}
				for _, w := range p.Frame.Engines {
					if got := rows[w.ID]; len(got) < 3 || got[1] != unit.Count(w.Steps) {
						t.Errorf("%s: engine %s: %q", form, w.ID, got)
					}
				}
			}
			var a, b struct {
				Frame struct {
					Run, Loss any
					Windows   []store.Window
				}
				Warnings any
			}
			for text, v := range map[string]any{review: &a, command(t, "report", run, "--json"): &b} {
				if err := json.Unmarshal([]byte(text), v); err != nil {
					t.Fatal(err)
				}
			}
			if !reflect.DeepEqual(a, b) {
				t.Errorf("report --json and review --once --json differ")
			}
		})
	}
}

func TestFormOfAReport(t *testing.T) {
	for _, c := range []struct {
		o    reportOptions
		want string
	}{
		{reportOptions{}, "md"},
		{reportOptions{out: "a.html"}, "html"},
		{reportOptions{out: "a.HTM"}, "html"},
		{reportOptions{out: "a.json"}, "json"},
		{reportOptions{out: "a.md"}, "md"},
		{reportOptions{out: "a"}, "md"},
		{reportOptions{out: "a.json", html: true}, "html"},
		{reportOptions{out: "a.html", markdown: true}, "md"},
		{reportOptions{out: "a.html", json: true}, "json"},
	} {
		if got := c.o.form(); got != c.want {
			t.Errorf("%+v gives %s, want %s", c.o, got, c.want)
		}
	}
}

// Records that would take long to read are checked only when that is asked for.
func TestLargeRecordsAreNotCheckedUnasked(t *testing.T) {
	stream, err := testdata.Recording("h200-tp1-literal")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "layer1", "a.jsonl")
	writeFile(t, path, string(stream))
	env, _, _ := memoryEnv(map[string]string{"HOME": t.TempDir()})
	run, err := env.openRun(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, asked := range []bool{false, true} {
		r := &runreport.Report{}
		r.Run.Streams = append(r.Run.Streams, describedStream(checkedBytes+1))
		if err := (&reportOptions{check: asked}).checkRecords(t.Context(), run, r); err != nil {
			t.Fatal(err)
		}
		if (r.Unchecked == "") != asked || (len(r.Checks) == 1) != asked {
			t.Errorf("asked %t: %q, %d checks", asked, r.Unchecked, len(r.Checks))
		}
	}
}

func describedStream(bytes int64) rundir.Stream { return rundir.Stream{Path: "a.jsonl", Bytes: bytes} }
