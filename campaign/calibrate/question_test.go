package calibrate

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestParseQuestion(t *testing.T) {
	for text, want := range map[string]Question{
		"decode=48,context=8192":                                       {Decode: 48, Context: 8192},
		" prefill = 512 , context=1e3,graph=none":                      {Prefill: 512, PrefillRequests: 1, Context: 1000, Graph: "NONE"},
		"decode=8,prefill=512,prefill_requests=2,context=9,bucket=600": {Decode: 8, Prefill: 512, PrefillRequests: 2, Context: 9, Bucket: 600},
	} {
		if got, err := ParseQuestion(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                            "expected KEY=VALUE",
		"decode":                      "expected KEY=VALUE",
		"decode=1,decode=2,context=1": "at most once",
		"batch=1,context=1":           "expected one of decode",
		"decode=x,context=1":          `decode is "x"`,
		"decode=-1,context=1":         `decode is "-1"`,
		"decode=nan,context=1":        `decode is "nan"`,
		"decode=1":                    "expected context",
		"context=100":                 "expected decode requests or prefill tokens",
	} {
		if _, err := ParseQuestion(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseQuestion(f *testing.F) {
	f.Add("decode=48,context=8192,graph=FULL")
	c := New(server(1, 8, 0, 0))
	f.Fuzz(func(t *testing.T, text string) {
		q, err := ParseQuestion(text)
		if err != nil {
			return
		}
		if again, err := ParseQuestion(q.String()); err != nil || again != q {
			t.Fatalf("%+v is written %q and read %+v, %v", q, q, again, err)
		}
		a, err := c.Ask(q)
		if err != nil {
			return
		}
		if !(a.Busy.NS >= 0) || math.IsInf(a.Busy.NS, 0) || a.Inside != (a.Busy.LowNS != nil) {
			t.Fatalf("%+v", a)
		}
		if _, err := json.Marshal(a); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAnswers(t *testing.T) {
	c := New(server(3, 24, 0.02, 0.005))
	inside, err := c.Ask(Question{Decode: 40, Context: 2000})
	if err != nil || !inside.Inside || inside.Graph != "FULL" || inside.Bucket < 40 || len(inside.Notes) != 2 {
		t.Fatalf("%+v, %v", inside, err)
	}
	x := decodeStep(40, 2000)
	x.Bucket = inside.Bucket
	var want float64
	for _, v := range truth(&x) {
		want += v
	}
	if math.Abs(inside.Busy.NS-want) > 0.05*want || *inside.Busy.LowNS > want || *inside.Busy.HighNS < want || len(inside.Families) != 4 {
		t.Errorf("busy %+v, want %v", inside.Busy, want)
	}
	var sum float64
	for _, f := range inside.Families {
		sum += f.NS
	}
	if math.Abs(sum-inside.Busy.NS) > 1e-6*sum {
		t.Errorf("the families sum to %v, busy is %v", sum, inside.Busy.NS)
	}
	for _, q := range []struct {
		q    Question
		note string
	}{
		{Question{Decode: 500, Context: 2000, Graph: "FULL"}, "decode 500: 1 to 90 were seen"},
		{Question{Decode: 40, Context: 100000, Graph: "FULL"}, "context of all requests 4,000,000"},
		{Question{Decode: 40, Prefill: 3000, PrefillRequests: 1, Context: 2000, Graph: "NONE"}, "decode 40: 0 to 0 were seen in graph mode NONE"},
		{Question{Decode: 500, Context: 2000, Graph: "FULL"}, "no bucket of this many tokens was seen"},
		{Question{Decode: 40, Context: 2000, Graph: "FULL", Bucket: 4096}, "tokens, padding included, 4,096: "},
		{Question{Prefill: 2000, PrefillRequests: 300, Context: 7, Graph: "NONE"}, "requests 300: "},
	} {
		a, err := c.Ask(q.q)
		if err != nil || a.Inside || a.Busy.LowNS != nil || a.Busy.NS <= 0 || !strings.Contains(strings.Join(a.Notes, "|"), q.note) || !strings.Contains(strings.Join(a.Notes, "|"), "no interval") {
			t.Errorf("%+v: %+v, %v", q.q, a, err)
		}
	}
	if _, err := c.Ask(Question{Decode: 4, Context: 2000, Graph: "PIECEWISE"}); err == nil || !strings.Contains(err.Error(), "the modes are FULL, NONE") {
		t.Error(err)
	}
	if _, err := c.Ask(Question{Decode: 40, Context: 2000, Graph: "FULL", Bucket: 8}); err == nil || !strings.Contains(err.Error(), "does not hold 40") {
		t.Error(err)
	}
	if a, err := c.Ask(Question{Prefill: 2000, PrefillRequests: 1, Context: 2000}); err != nil || a.Graph != "NONE" || a.Bucket != 2000 {
		t.Errorf("%+v, %v", a, err)
	}
}

// What the table holds of a step stands beside the model's word, and what was never measured has no cell.
func TestAnswersNameTheirCell(t *testing.T) {
	set := server(3, 24, 0.02, 0.005)
	c := New(set)
	for i := range set.Samples {
		x := &set.Samples[i].Composition
		a, err := c.Ask(Question{Decode: x.Decode, Prefill: x.Prefill, PrefillRequests: x.Requests - x.Decode, Context: x.MeanContext(), Graph: x.Graph, Bucket: x.Bucket})
		if err != nil {
			t.Fatal(err)
		}
		want := cellOf(x)
		if x.ContextMedian != contextBin(x.MeanContext()) {
			continue // the median of the sample is of another bin than its mean
		}
		if a.Cell == nil || a.Cell.Cell != want || !(a.Cell.BusyMin <= set.Samples[i].BusyNS && set.Samples[i].BusyNS <= a.Cell.BusyMax) {
			t.Fatalf("%+v: cell %+v", x, a.Cell)
		}
	}
	if a, err := c.Ask(Question{Decode: 40, Context: 100000}); err != nil || a.Cell != nil {
		t.Errorf("%+v, %v", a.Cell, err)
	}
}

// An interval needs windows; without them the answer says so.
func TestFewWindowsHaveNoInterval(t *testing.T) {
	set := server(3, MinWindows-1, 0.02, 0.005)
	x := set.Samples[0].Composition
	a, err := New(set).Ask(Question{Decode: x.Decode, Prefill: x.Prefill, PrefillRequests: x.Requests - x.Decode, Context: x.MeanContext(), Graph: x.Graph})
	if err != nil || a.Busy.LowNS != nil || !a.Inside || !strings.Contains(strings.Join(a.Notes, "|"), "it needs 3 windows that can be held out, of 2") {
		t.Errorf("%+v, %v", a, err)
	}
}
