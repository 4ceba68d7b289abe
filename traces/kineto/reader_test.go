package kineto

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pretty lays events out as Kineto does, one field group a line.
func pretty(events ...string) string {
	return "\n  {\n    \"schemaVersion\": 1,\n  \"baseTimeNanoseconds\": 1000000000000000000,\n  \"traceEvents\": [\n  " +
		strings.Join(events, ",\n  ") + "\n  ],\n  \"traceName\": \"/tmp/x.json\"\n}"
}

// compact is the same file as another program would write it again.
func compact(events ...string) string {
	return `{"traceEvents":[` + strings.Join(events, ",") + `],"baseTimeNanoseconds":1000000000000000000}`
}

func kernelLine(name string, ts, dur string, correlation int) string {
	return fmt.Sprintf("{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": 0, \"tid\": 7,\n    \"ts\": %s, \"dur\": %s,\n    \"args\": {\n"+
		"      \"External id\": 36,      \"queued\": 0, \"device\": 0, \"context\": 1,      \"stream\": 7, \"correlation\": %d,      \"grid\": [2, 3, 1],      \"block\": [128, 1, 1]\n    }\n  }",
		name, ts, dur, correlation)
}

func kernelCompact(name string, ts, dur string, correlation int) string {
	return fmt.Sprintf(`{"args":{"correlation":%d,"stream":7,"device":0,"grid":[2,3,1],"block":[128,1,1]},"name":"%s","cat":"kernel","ph":"X","dur":%s,"ts":%s,"tid":7,"pid":0}`,
		correlation, name, dur, ts)
}

func launchLine(ts string, correlation int) string {
	return fmt.Sprintf("{\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 9, \"tid\": 9,\n    \"ts\": %s, \"dur\": 5.000,\n    \"args\": {\n            \"cbid\": 211, \"correlation\": %d\n    }\n  }", ts, correlation)
}

func read(t *testing.T, text string) *Trace {
	t.Helper()
	tr, err := Read(context.Background(), strings.NewReader(text), "rank0.1.pt.trace.json", Options{})
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return tr
}

// durations are the kept events' durations by name.
func durations(tr *Trace) map[string]int64 {
	out := map[string]int64{}
	for i := range tr.Events.Len() {
		e := tr.Events.At(i)
		out[tr.Names[e.Name]] += e.DurNS
	}
	return out
}

// TestDamage: each file holds a good event, something wrong, and a good event after it. The good ones are never lost.
func TestDamage(t *testing.T) {
	good := func(n int) string { return kernelLine(fmt.Sprintf("good%d", n), "10.000", "1.500", n) }
	goodC := func(n int) string { return kernelCompact(fmt.Sprintf("good%d", n), "10.000", "1.500", n) }
	for _, c := range []struct {
		name   string
		text   string
		faults bool
		kept   string // also kept, with 2.000 us
	}{
		{name: "clean", text: pretty(good(1), kernelLine("mid", "20.000", "2.000", 5), good(2)), kept: "mid"},
		{name: "clean compact", text: compact(goodC(1), kernelCompact("mid", "20.000", "2.000", 5), goodC(2)), kept: "mid"},
		{name: "bare quotes in a name", text: pretty(good(1), kernelLine(`say "hi" there`, "20.000", "2.000", 5), good(2)), kept: `say "hi" there`},
		{name: "bare quote, compact", text: compact(goodC(1), `{"ph":"X","cat":"kernel","name":"a"b","pid":0,"tid":7,"ts":1,"dur":2,"args":{}}`, goodC(2)), faults: true},
		{name: "odd bare quote, compact", text: compact(goodC(1), `{"ph":"X","cat":"cpu_op","name":"a"","pid":0,"ts":1}`, goodC(2)), faults: true},
		{name: "escaped quote", text: compact(goodC(1), kernelCompact(`a\"b`, "20.000", "2.000", 5), goodC(2)), kept: `a"b`},
		{name: "path escapes", text: pretty(good(1), kernelLine(`C:\dir\x`, "20.000", "2.000", 5), good(2)), kept: `C:\dir\x`},
		{name: "control bytes", text: pretty(good(1), kernelLine("a\x01\x1bb", "20.000", "2.000", 5), good(2)), kept: "a\x01\x1bb"},
		{name: "bad UTF-8", text: pretty(good(1), kernelLine("a\xffb", "20.000", "2.000", 5), good(2)), kept: "a\uFFFDb"},
		{name: "no comma between events", text: strings.Replace(pretty(good(1), kernelLine("mid", "20.000", "2.000", 5), good(2)), "},\n  {", "}\n  {", 1), kept: "mid"},
		{name: "two commas", text: strings.Replace(compact(goodC(1), kernelCompact("mid", "20.000", "2.000", 5), goodC(2)), "},{", "},,{", 1), kept: "mid"},
		{name: "no comma inside", text: compact(goodC(1), `{"ph":"X" "cat":"kernel","name":"mid","ts":20,"dur":2,"tid":7,"pid":0}`, goodC(2)), kept: "mid"},
		{name: "huge integers", text: pretty(good(1), kernelLine("mid", "99999999999999999999999", "2.000", 5), good(2)), faults: true},
		{name: "huge argument", text: compact(goodC(1), `{"ph":"X","cat":"kernel","name":"mid","ts":20,"dur":2,"tid":7,"pid":0,"args":{"Comms Id":99999999999999999999,"correlation":5}}`, goodC(2)), kept: "mid"},
		{name: "NaN", text: pretty(good(1), kernelLine("mid", "NaN", "2.000", 5), good(2)), faults: true},
		{name: "inf in arguments", text: compact(goodC(1), `{"ph":"X","cat":"kernel","name":"mid","ts":20,"dur":2,"tid":7,"pid":0,"args":{"warps per SM":inf,"bw":N/A}}`, goodC(2)), kept: "mid"},
		{name: "garbage between", text: compact(goodC(1)+`,@@@@`, goodC(2)), faults: true},
		{name: "string ids and times", text: compact(goodC(1), `{"ph":"X","cat":"Kernel","name":"mid","ts":"20.000","dur":"2.000","tid":"stream 7","pid":"0"}`, goodC(2)), kept: "mid"},
		{name: "zeros", text: strings.Replace(compact(goodC(1), goodC(2)), "},{", "},"+strings.Repeat("\x00", 5000)+"{", 1), faults: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := read(t, c.text)
			got := durations(tr)
			for _, n := range []string{"good1", "good2"} {
				if got[n] != 1500 {
					t.Errorf("%s lasts %d ns, want 1500; kept %v, faults %v", n, got[n], got, tr.Faults)
				}
			}
			if c.kept != "" && got[c.kept] != 2000 {
				t.Errorf("%q lasts %d ns, want 2000; kept %v, faults %v", c.kept, got[c.kept], got, tr.Faults)
			}
			if (tr.FaultCount > 0) != c.faults {
				t.Errorf("faults: %v, want some: %v", tr.Faults, c.faults)
			}
			for _, f := range tr.Faults {
				if f.Offset <= 0 || f.Offset > tr.Bytes || f.Reason == "" {
					t.Errorf("fault is not located: %+v of %d bytes", f, tr.Bytes)
				}
			}
		})
	}
}

func TestMetadataMayComeLast(t *testing.T) {
	for _, text := range []string{pretty(kernelLine("k", "1.000", "1.000", 1)), compact(kernelCompact("k", "1.000", "1.000", 1))} {
		if tr := read(t, text); tr.BaseNS != 1e18 || !tr.Closed || tr.Truncated {
			t.Errorf("base %d, closed %v, truncated %v", tr.BaseNS, tr.Closed, tr.Truncated)
		}
	}
}

func TestTimes(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "1": 1000, "1.5": 1500, "1.567": 1567, "1.5674": 1567, "1.5675": 1568, "5146475019573.567": 5146475019573567,
		"1700000000000000": 1700000000000000000, "1700000000000000123": 1700000000000000123, "-1.25": -1250, "1.7e+3": 1700000,
	} {
		if got, ok := parseNS([]byte(in)); !ok || got != want {
			t.Errorf("parseNS(%s) = %d, %v, want %d", in, got, ok, want)
		}
	}
	for _, in := range []string{"", "-", ".", "x", "1x", "1.x", "99999999999999999999", "NaN", "1e400"} {
		if got, ok := parseNS([]byte(in)); ok {
			t.Errorf("parseNS(%q) = %d, want a refusal", in, got)
		}
	}
}

func TestRankFromName(t *testing.T) {
	for name, want := range map[string]int64{
		"dp0_pp0_tp1_dcp0_ep1_rank1.1796003851172920724.pt.trace.json.gz": 1,
		"dp1_pp0_tp1_dcp0_rank3.17.pt.trace.json":                         3,
		"rank7.1796003851172920724.pt.trace.json.gz":                      7,
		"1796003851-rank-2.1796003851172920724.pt.trace.json.gz":          2,
		"host_1234.1796003851172920724.pt.trace.json.gz":                  -1,
		"frank3.json": -1,
	} {
		if got := RankOf(name).Global; got != want {
			t.Errorf("rank of %s = %d, want %d", name, got, want)
		}
	}
	if r := RankOf("dp1_pp2_tp3_dcp4_ep5_rank6.1.pt.trace.json"); r != (Rank{Global: 6, DP: 1, PP: 2, TP: 3, DCP: 4, EP: 5, From: "file name"}) {
		t.Errorf("coordinates: %+v", r)
	}
	tr, err := Read(context.Background(), strings.NewReader(`{"distributedInfo":{"rank":5,"world_size":8},"traceEvents":[]}`), "x.json", Options{})
	if err != nil || tr.Rank.Global != 5 || tr.World != 8 || tr.Rank.From != "distributedInfo" {
		t.Errorf("rank from distributedInfo: %+v, %v", tr, err)
	}
}

func zipped(t *testing.T, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, p := range parts {
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestGzip(t *testing.T) {
	var events []string
	for i := range 2000 {
		events = append(events, kernelLine(fmt.Sprintf("k%d", i), fmt.Sprintf("%d.000", i+1), "1.000", i+1))
	}
	text := pretty(events...)
	whole := zipped(t, text[:len(text)/2], text[len(text)/2:])
	tr, err := Read(context.Background(), bytes.NewReader(whole), "rank0", Options{})
	if err != nil || tr.Events.Len() != 2000 || tr.FaultCount != 0 || tr.Truncated {
		t.Fatalf("two members: %d events, faults %v, %v", tr.Events.Len(), tr.Faults, err)
	}
	cut, err := Read(context.Background(), bytes.NewReader(whole[:len(whole)*3/4]), "rank0", Options{})
	if err != nil || !cut.Truncated || cut.FaultCount == 0 || cut.Events.Len() < 900 || cut.Events.Len() >= 2000 {
		t.Fatalf("cut: %d events, truncated %v, faults %v, %v", cut.Events.Len(), cut.Truncated, cut.Faults, err)
	}
	for i := range cut.Events.Len() {
		if e := cut.Events.At(i); e.DurNS != 1000 || e.Correlation != uint32(i+1) {
			t.Fatalf("event %d of the cut file is %+v", i, e)
		}
	}
}

func TestBounds(t *testing.T) {
	bomb := zipped(t, `{"traceEvents":[`+strings.Repeat(" ", 30<<20))
	tr, err := Read(context.Background(), bytes.NewReader(bomb), "rank0", Options{MaxBytes: 1 << 20})
	if err != nil || !tr.Truncated || tr.Bytes > 3<<20 {
		t.Errorf("a bomb was read to %d bytes, %v", tr.Bytes, err)
	}
	few, err := Read(context.Background(), strings.NewReader(pretty(kernelLine("a", "1.000", "1.000", 1), kernelLine("b", "2.000", "1.000", 2))), "rank0", Options{MaxEvents: 1})
	if err != nil || few.Events.Len() != 1 || few.FaultCount == 0 {
		t.Errorf("more events than the bound: kept %d, faults %v, %v", few.Events.Len(), few.Faults, err)
	}
}

func TestForeignFiles(t *testing.T) {
	for _, text := range []string{"", "hello", "{}", `{"a":1}`, strings.Repeat("\x00", 1<<16), `{"traceEvents":5}`, "\x1f\x8b", "\x1f\x8b\x08\x00garbage"} {
		if _, err := Read(context.Background(), strings.NewReader(text), "x", Options{}); !errors.Is(err, ErrNotTrace) {
			t.Errorf("Read(%.20q): %v, want ErrNotTrace", text, err)
		}
	}
	if tr := read(t, `[`+kernelCompact("k", "1.000", "1.000", 1)+`]`); tr.Events.Len() != 1 {
		t.Errorf("a bare list of events holds %d", tr.Events.Len())
	}
}

func TestSuspectTimes(t *testing.T) {
	var events []string
	for i := range 40 {
		events = append(events, kernelLine("k", fmt.Sprintf("%d.000", 1000+i*1000), "900.000", i+1))
	}
	events = append(events, kernelLine("lost clock", "0.000", "1.000", 50), kernelLine("runaway", "1000.500", "30000.000", 51),
		"{\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", \"tid\": \"\", \"ts\": 50000.000\n  }",
		kernelLine("past the end", "49000.000", "90000.000", 52))
	tr := read(t, pretty(events...))
	for i := range tr.Events.Len() {
		e := tr.Events.At(i)
		if want := tr.Names[e.Name] != "k"; e.Suspect != want {
			t.Errorf("%s is suspect: %v", tr.Names[e.Name], e.Suspect)
		}
	}
	if tr.Suspect != 3 || tr.EndNS != 50_000_000 {
		t.Errorf("%d suspect events, end %d", tr.Suspect, tr.EndNS)
	}
}

func TestLaunches(t *testing.T) {
	tr := read(t, pretty(launchLine("5.000", 9), kernelLine("k", "6.000", "1.000", 9), launchLine("3.000", 4)))
	if i, ok := tr.Launches.Find(9); !ok || tr.Launches[i].StartNS != 5000 || tr.Launches[i].DurNS != 5000 {
		t.Errorf("launch 9: %d of %+v, %v", i, tr.Launches, ok)
	}
	if _, ok := tr.Launches.Find(5); ok {
		t.Error("launch 5 does not exist")
	}
	if e := tr.Events.At(0); tr.Shapes[e.Shape] != (Shape{Grid: [3]int32{2, 3, 1}, Block: [3]int32{128, 1, 1}}) || tr.Streams[e.Stream] != (Stream{0, 7}) {
		t.Errorf("shape %v, stream %v", tr.Shapes[e.Shape], tr.Streams[e.Stream])
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read(ctx, strings.NewReader(pretty(kernelLine("k", "1.000", "1.000", 1))), "x", Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled read: %v", err)
	}
}
