package perfetto

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"opprof/campaign/export/feed"
	"opprof/engine/record"
	"opprof/engine/store"
	"opprof/testdata"
)

// written is a trace as another program reads it.
type written struct {
	Other  map[string]string `json:"otherData"`
	Events []event           `json:"traceEvents"`
}

type event struct {
	Ph   string                     `json:"ph"`
	Name string                     `json:"name"`
	Cat  string                     `json:"cat"`
	PID  int64                      `json:"pid"`
	TID  int64                      `json:"tid"`
	TS   json.Number                `json:"ts"`
	Dur  json.Number                `json:"dur"`
	Args map[string]json.RawMessage `json:"args"`
}

// reporter is a test or a property.
type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

// ns is a time of the trace in ns since its base, exactly.
func (w *written) ns(t reporter, ts json.Number) int64 {
	t.Helper()
	us, ok := new(big.Rat).SetString(ts.String())
	if !ok {
		t.Fatalf("%q is no time", ts)
	}
	us.Mul(us, big.NewRat(1000, 1))
	if !us.IsInt() {
		t.Fatalf("%s us are no whole nanoseconds", ts)
	}
	return us.Num().Int64()
}

func (w *written) base(t testing.TB) int64 {
	t.Helper()
	base, err := strconv.ParseInt(w.Other["baseTimeNanoseconds"], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return base
}

func (e *event) step(t testing.TB) (index int64, ok bool) {
	text, ok := e.Args["step_index"]
	if !ok {
		return 0, false
	}
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	return index, true
}

func streamOf(t testing.TB, name string, data []byte) string {
	t.Helper()
	if data == nil {
		var err error
		if data, err = testdata.Recording(name); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "opprof-v1-dp0-pid1-1.jsonl")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, streams ...string) *feed.Feed {
	t.Helper()
	f, err := feed.Open(streams)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func tracedAs(t testing.TB, in Input) (*written, Summary, []byte) {
	t.Helper()
	var b bytes.Buffer
	sum, err := Write(context.Background(), &b, in)
	if err != nil {
		t.Fatal(err)
	}
	w := &written{}
	if err := json.Unmarshal(b.Bytes(), w); err != nil {
		t.Fatal(err)
	}
	w.check(t)
	return w, sum, b.Bytes()
}

// check holds for any trace: time does not go back on a track, slices of a track do not overlap, and processes and threads have names.
func (w *written) check(t reporter) {
	t.Helper()
	type line struct {
		pid, tid int64
		counter  string
	}
	last, end, named := map[line]int64{}, map[line]int64{}, map[[2]int64]bool{}
	for i := range w.Events {
		e := &w.Events[i]
		key := line{pid: e.PID, tid: e.TID}
		switch e.Ph {
		case "M":
			named[[2]int64{e.PID, e.TID}] = true
			continue
		case "C":
			key.counter = e.Name
		}
		at := w.ns(t, e.TS)
		if before, ok := last[key]; ok && at < before {
			t.Fatalf("event %d (%s) goes back on its track by %d ns", i, e.Name, before-at)
		}
		last[key] = at
		if e.Ph == "X" {
			if before, ok := end[key]; ok && at < before {
				t.Fatalf("slice %d (%s) begins %d ns before the one before it ends", i, e.Name, before-at)
			}
			end[key] = at + w.ns(t, e.Dur)
		}
		if !named[[2]int64{e.PID, e.TID}] {
			t.Fatalf("event %d (%s) is on a track without a name", i, e.Name)
		}
	}
}

func TestStepsAreExact(t *testing.T) {
	for _, name := range []string{"h200-tp1", "h200-tp2-eager"} {
		path := streamOf(t, name, nil)
		w, sum, _ := tracedAs(t, Input{Run: name, Steps: open(t, path)})
		type times struct{ submit, complete, period int64 }
		want, preempted := map[int64]times{}, 0
		if _, err := open(t, path).Each(context.Background(), func(it *feed.Item) error {
			if s := &it.Line.Step; it.Line.Kind == record.KindStep {
				want[s.StepIndex] = times{it.Place.TimeNS - s.SubmitToCompleteNS(), it.Place.TimeNS, it.Place.PeriodNS}
				if s.Preemptions > 0 {
					preempted++
				}
			}
			return nil
		}, nil); err != nil {
			t.Fatal(err)
		}
		flights, base := 0, w.base(t)
		for i := range w.Events {
			e := &w.Events[i]
			index, _ := e.step(t)
			m := want[index]
			switch {
			case e.Cat == "in flight":
				flights++
				if at := base + w.ns(t, e.TS); at != m.submit || at+w.ns(t, e.Dur) != m.complete {
					t.Fatalf("step %d is in flight from %d for %s, want %+v", index, at, e.Dur, m)
				}
			case e.Cat == "step":
				if at := base + w.ns(t, e.TS); at+w.ns(t, e.Dur) != m.complete || w.ns(t, e.Dur) != m.period {
					t.Fatalf("the period of step %d is from %d for %s, want %+v", index, at, e.Dur, m)
				}
				m.period = store.UnknownNS // seen
				want[index] = m
			case e.Ph == "i" && strings.HasSuffix(e.Name, "preempted"):
				preempted--
			}
		}
		if flights != len(want) || sum.Steps != int64(flights) || preempted != 0 {
			t.Errorf("%s: %d steps in flight, told %d, of %d; %d preemptions are missing", name, flights, sum.Steps, len(want), preempted)
		}
		for index, m := range want {
			if m.period != store.UnknownNS {
				t.Errorf("%s: the period of step %d is missing", name, index)
			}
		}
	}
}

func TestASpanOfSteps(t *testing.T) {
	w, sum, _ := tracedAs(t, Input{Steps: open(t, streamOf(t, "h200-tp2-eager", nil)), From: 100, To: 120})
	if sum.Steps != 21 {
		t.Errorf("%d steps", sum.Steps)
	}
	for i := range w.Events {
		if index, ok := w.Events[i].step(t); ok && (index < 100 || index > 120) {
			t.Errorf("step %d is outside", index)
		}
	}
}

// jumped is a recording whose wall clock is set forward behind its first steps, as the records of a window tell it.
func jumped(t testing.TB, name string, byNS int64) []byte {
	data, err := testdata.Recording(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	r := record.NewReader(bytes.NewReader(data), name)
	for r.Scan() {
		l := r.Line()
		if l.Kind == record.KindStep && l.Step.StepIndex <= 5 {
			l.Step.SubmitWallNS -= byNS
		}
		out = append(record.Append(out, l), '\n')
	}
	return out
}

func TestKernelsLieInTheirSteps(t *testing.T) {
	for _, c := range []struct {
		name, traces string
		jumpNS       int64
	}{{"h200-tp2", "*.17960038511*", 0}, {"h200-tp1-experts", "*", 0}, {"h200-tp2", "*.17960038511*", 3_600_000_000_000}} {
		stream := streamOf(t, c.name, jumped(t, c.name, c.jumpNS))
		list := windowsOf(t, c.name, c.traces, stream)
		w, sum, _ := tracedAs(t, Input{Steps: open(t, stream), Windows: list})
		kernels := int64(0)
		flight := map[int64][2]int64{}
		for i := range w.Events {
			if e := &w.Events[i]; e.Cat == "in flight" {
				index, _ := e.step(t)
				flight[index] = [2]int64{w.ns(t, e.TS), w.ns(t, e.TS) + w.ns(t, e.Dur)}
			}
		}
		joined := 0
		for i := range w.Events {
			e := &w.Events[i]
			if _, ok := e.Args["family"]; !ok {
				continue
			}
			kernels++
			index, ok := e.step(t)
			if !ok {
				continue
			}
			joined++
			at := w.ns(t, e.TS)
			if s := flight[index]; at < s[0] || at+w.ns(t, e.Dur) > s[1] {
				t.Fatalf("%s: kernel %s of step %d lies outside of it", c.name, e.Name, index)
			}
		}
		var want int64
		for k := range list[0].Timelines {
			want += int64(len(list[0].Timelines[k].Events))
		}
		if kernels != want || sum.Kernels != want || joined == 0 {
			t.Errorf("%s: %d kernels, told %d, of %d; %d in steps", c.name, kernels, sum.Kernels, want, joined)
		}
	}
}

// Whatever the clocks of the records say, the trace holds together.
func TestAnyClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var data []byte
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			l := record.Line{Kind: record.KindStep}
			l.Step = record.Step{EngineID: rapid.SampledFrom([]string{"dp0-pid1", `a"b\` + "\u2028\x01"}).Draw(t, "engine"), StepIndex: rapid.Int64Range(1, 40).Draw(t, "index"),
				SubmitWallNS: rapid.Int64Range(-5, 1<<62).Draw(t, "wall"), SubmitMonoNS: rapid.Int64Range(0, 90).Draw(t, "submit"), CompleteMonoNS: rapid.Int64Range(0, 200).Draw(t, "complete"),
				DecodeBatchSize: rapid.Int64Range(0, 2).Draw(t, "decode"), PrefillTokens: rapid.Int64Range(0, 2).Draw(t, "prefill"), Preemptions: rapid.Int64Range(0, 1).Draw(t, "preempted")}
			data = append(record.Append(data, &l), '\n')
		}
		dir, err := os.MkdirTemp("", "perfetto")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "x.jsonl")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		in, err := feed.Open([]string{path})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		sum, err := Write(context.Background(), &b, Input{Run: "r\xff\n", Steps: in})
		if err != nil {
			t.Fatal(err)
		}
		w := &written{}
		if err := json.Unmarshal(b.Bytes(), w); err != nil {
			t.Fatalf("%v in %s", err, b.Bytes())
		}
		w.check(t)
		if n := sum.Steps + sum.Skipped; n != sum.Count.Steps {
			t.Fatalf("%d steps written or skipped of %d", n, sum.Count.Steps)
		}
	})
}

func TestMicroseconds(t *testing.T) {
	for ns, want := range map[int64]string{0: "0.000", 1: "0.001", 999: "0.999", 1000: "1.000", -1: "-0.001", -1500: "-1.500", 1<<62 + 7: "4611686018427387.911"} {
		if got := string(appendMicros(nil, ns)); got != want {
			t.Errorf("%d ns are %s us, want %s", ns, got, want)
		}
	}
}

func TestAFullDiskIsAnError(t *testing.T) {
	_, err := Write(context.Background(), fullDisk{}, Input{Steps: open(t, streamOf(t, "h200-tp1", nil))})
	if !errors.Is(err, errFull) {
		t.Error(err)
	}
}

var errFull = errors.New("no space left on device")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// processorEnv names an interpreter whose perfetto package has its trace_processor.
const processorEnv = "OPPROF_TRACE_PROCESSOR_PYTHON"

func TestPerfettoReadsIt(t *testing.T) {
	python := os.Getenv(processorEnv)
	if python == "" {
		t.Skip(processorEnv + " names no interpreter with perfetto's trace_processor")
	}
	stream := streamOf(t, "h200-tp1-experts", nil)
	w, _, text := tracedAs(t, Input{Steps: open(t, stream), Windows: windowsOf(t, "h200-tp1-experts", "*", stream)})
	path := filepath.Join(t.TempDir(), "trace.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	slices := 0
	for i := range w.Events {
		if w.Events[i].Ph == "X" || w.Events[i].Ph == "i" {
			slices++
		}
	}
	out, err := exec.Command(python, "-c", `import sys
from perfetto.trace_processor import TraceProcessor
tp = TraceProcessor(trace=sys.argv[1])
print(next(tp.query("select count(*) n from slice")).n, next(tp.query("select count(*) n from stats where severity = 'error' and value > 0")).n)`, path).Output()
	if want := fmt.Sprintf("%d 0\n", slices); err != nil || string(out) != want {
		t.Errorf("it reads %s, %v; want %s", out, err, want)
	}
}
