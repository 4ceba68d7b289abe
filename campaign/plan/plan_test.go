package plan

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"opprof/campaign/gate"
	"opprof/engine/serverconf"
)

const server = "[server]\nmodel = 'm'\n" // two lines

func parse(t *testing.T, text string) *Plan {
	t.Helper()
	p, err := Parse("c.toml", server+text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestASectionIsReadStrictly(t *testing.T) {
	const load = "[campaign.load.a]\n"
	for text, want := range map[string]string{
		"[campaign]\npair = 6\n" + load:                              `c.toml:4: unknown key "campaign.pair"; did you mean "campaign.pairs"?`,
		load + "prompt = 6\n":                                        `c.toml:4: unknown key "campaign.load.a.prompt"; did you mean "campaign.load.a.prompts"?`,
		load + "[campaign.metric.x]\nbeter = 'lower'\nfield = 'f'\n": `did you mean "campaign.metric.x.better"?`,
		"[campaign]\npairs = 0\n" + load:                             "c.toml:4: campaign.pairs: 0: expected 1 to 1000",
		"[campaign]\nsecond_look_pairs = -1\n" + load:                "second_look_pairs: -1",
		"[campaign]\norder = 'AABB'\n" + load:                        `campaign.order: "AABB": expected ABBA or BAAB`,
		"[campaign]\nlimit_pct = 0\n" + load:                         "limit_pct: 0",
		"[campaign]\nlimit_pct = nan\n" + load:                       "limit_pct: NaN",
		"[campaign]\narms = ['on']\n" + load:                         "expected off and on",
		"[campaign]\narms = ['off', 'on', 'on']\n" + load:            "expected off and on",
		"[campaign]\ngraph_modes = ['full']\n" + load:                `graph_modes: "full"`,
		"[campaign]\ngraph_modes = []\n" + load:                      "expected at least one",
		"[campaign]\ngraph_modes = ['eager', 'eager']\n" + load:      "a mode stands twice",
		"[campaign]\ntensor_parallel = [1, 0]\n" + load:              "tensor_parallel: 0",
		"[campaign]\nloads = ['b']\n" + load:                         `"b": there is no [campaign.load.b]`,
		"[campaign]\nloads = ['a', 'a']\n" + load:                    "a load stands twice",
		"[campaign]\nname = '../x'\n" + load:                         `name: "../x"`,
		"[campaign]\n":                                               "expected at least one [campaign.load.NAME]",
		"[campaign]\nmin_requests = 0\n" + load:                      "min_requests: 0",
		"[campaign]\ncooldown = '-3s'\n" + load:                      `"-3s" is not a duration`,
		load + "prompts = 0\n":                                       "c.toml:4: campaign.load.a.prompts: 0",
		load + "prompts = 9223372036854775807\n":                     "expected 1 to 10000000",
		load + "input_tokens = 99999999999\n":                        "campaign.load.a.input_tokens: 99999999999: expected 1 to",
		load + "range_ratio = 1.0\n":                                 "range_ratio: 1",
		load + "request_rate = -1\n":                                 "request_rate: -1",
		load + "format = 'guidellm'\n":                               "load.a.command: expected the command",
		load + "format = 'x'\n":                                      `format: "x"`,
		load + "command = ['guidellm']\n":                            "expected {result}",
		load + "estimate = '0s'\n":                                   "estimate: expected a duration",
		load + "[campaign.metric.x]\nfield = 'f'\n":                  `metric.x.better: ""`,
		load + "[campaign.metric.x]\nbetter = 'lower'\n":             "metric.x.field",
		"[campaign.load.'a b']\n":                                    "expected a name of letters",
	} {
		if _, err := Parse("c.toml", server+text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
	if _, err := Parse("c.toml", "[server]\nport = 0\n[campaign]\npairs = 0\n"); err == nil || strings.Count(err.Error(), "\n") < 3 {
		t.Errorf("not everything that is wrong is said: %v", err)
	}
	if _, err := Parse("c.toml", server); err == nil || !strings.Contains(err.Error(), "has no [campaign] section") {
		t.Error(err)
	}
}

func TestDefaults(t *testing.T) {
	p := parse(t, "tensor_parallel = 2\n[campaign.load.b]\nprompts = 300\n[campaign.load.a]\n")
	if p.Name != "c" || len(p.Warnings) != 0 || !reflect.DeepEqual(p.Metrics, DefaultMetrics()) || !slices.Equal(p.Campaign.TensorParallel, []int{2}) {
		t.Errorf("%+v", p)
	}
	want := generatorDefaults()
	if !reflect.DeepEqual(p.Loads[1], Load{"a", want}) || p.Loads[0].Name != "b" || p.Loads[0].Prompts != 300 || p.Loads[0].OutputTokens != want.OutputTokens {
		t.Errorf("%+v", p.Loads)
	}
}

// The names of fields tell units; what they do not tell is left out.
func TestUnits(t *testing.T) {
	metrics := append(DefaultMetrics(), Metric{Name: "rps", Field: "request_throughput"}, Metric{Name: "all", Field: "total_token_throughput"}, Metric{Name: "took", Field: "duration"},
		Metric{Name: "good", Field: "request_goodput"}, Metric{Name: "long", Field: "p50_e2el_s"})
	want := map[string]string{"throughput": "tokens/s", "ttft_p50": "ms", "ttft_p95": "ms", "tpot_p50": "ms", "tpot_p95": "ms", "rps": "requests/s", "all": "tokens/s", "took": "s", "long": "s"}
	if got := Units(metrics); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestWarnings(t *testing.T) {
	for text, want := range map[string]string{
		"pairs = 4":        "4 pairs decide nothing",
		"pairs = 5":        "cannot reach 2.5 %",
		"pairs = 7":        "odd number",
		"warm_up_runs = 0": "no warm-up run",
		"min_requests = 9": "",
	} {
		p := parse(t, "[campaign]\n"+text+"\n[campaign.load.a]\n")
		if got := strings.Join(p.Warnings, "|"); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if p := parse(t, "[campaign.load.a]\nprompts = 99\n"); !strings.Contains(strings.Join(p.Warnings, "|"), "load a: 99 prompts") {
		t.Errorf("%q", p.Warnings)
	}
}

func TestMetricsKeepTheirOrder(t *testing.T) {
	p := parse(t, "[campaign.load.a]\n[campaign.metric.z]\nfield = 'p99_itl_ms'\nbetter = 'lower'\n[campaign.metric.b]\nfield = 'request_throughput'\nbetter = 'higher'\n")
	if want := []Metric{{"z", "p99_itl_ms", false}, {"b", "request_throughput", true}}; !reflect.DeepEqual(p.Metrics, want) {
		t.Errorf("%+v", p.Metrics)
	}
}

func TestRunsOfOneCell(t *testing.T) {
	p := parse(t, "[campaign]\npairs = 3\nwindows = 5\nexpert_requests = 4\nsecond_look_pairs = 1\n[campaign.load.a]\n")
	var got []string
	for _, r := range p.Runs(true) {
		got = append(got, r.ID()+" "+r.Order)
	}
	want := []string{
		"tp1-default-a-warm-up-1-off ", "tp1-default-a-warm-up-1-on ",
		"tp1-default-a-p001-1-off AB", "tp1-default-a-p001-2-on AB",
		"tp1-default-a-p002-1-on BA", "tp1-default-a-p002-2-off BA",
		"tp1-default-a-p003-1-off AB", "tp1-default-a-p003-2-on AB",
		"tp1-default-a-windows-1-on ", "tp1-default-a-experts-1-on ",
		"tp1-default-a-p004-1-on BA", "tp1-default-a-p004-2-off BA",
	}
	if !slices.Equal(got, want) {
		t.Errorf("runs\n%s", strings.Join(got, "\n"))
	}
	n := p.Needs()
	run := 3*time.Minute + 30*time.Second + 2*time.Minute
	if n != (Needs{Cells: 1, Runs: 10, GPUs: 1, Time: 10 * run, Pair: 2 * run, Second: 2 * run}) {
		t.Errorf("%+v", n)
	}
}

func TestServersOfRuns(t *testing.T) {
	p := parse(t, "args = ['--max-model-len', '8']\n[campaign]\ngraph_modes = ['default', 'eager', 'PIECEWISE']\ntensor_parallel = [1, 4]\nwindows = 1\nexpert_requests = 1\n[campaign.load.a]\n")
	for _, r := range p.Runs(false) {
		s := p.Config(r)
		extra := strings.Join(s.Args[2:], " ")
		mode := map[string]string{GraphDefault: "", GraphEager: "--enforce-eager", "PIECEWISE": "-cc.cudagraph_mode=PIECEWISE"}[r.Cell.GraphMode]
		if r.Kind == Experts {
			mode = strings.TrimSpace(mode + " --enable-return-routed-experts")
		}
		if extra != mode || s.Record != (r.Arm == On) || s.Profiler.Enabled != (r.Kind == Windows) || s.TensorParallel != r.Cell.TensorParallel {
			t.Errorf("%s: %+v", r.ID(), s)
		}
	}
	if len(p.Server.Args) != 2 || !p.Server.Record {
		t.Errorf("the plan's own server was changed: %+v", p.Server)
	}
	if _, ok := p.Load("b"); ok || p.Needs().GPUs != 4 {
		t.Errorf("%+v", p.Needs())
	}
}

// draw draws a plan.
func draw(t *rapid.T) *Plan {
	c := Defaults()
	c.Pairs = rapid.IntRange(1, 9).Draw(t, "pairs")
	c.SecondLookPairs = rapid.IntRange(0, 4).Draw(t, "second")
	c.Order = rapid.SampledFrom([]string{ABBA, BAAB}).Draw(t, "order")
	c.WarmUpRuns = rapid.IntRange(0, 2).Draw(t, "warm-up")
	c.Windows, c.ExpertRequests = rapid.IntRange(0, 2).Draw(t, "windows"), rapid.IntRange(0, 2).Draw(t, "experts")
	c.TensorParallel = rapid.SliceOfNDistinct(rapid.IntRange(1, 8), 1, 3, rapid.ID[int]).Draw(t, "tp")
	c.GraphModes = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{GraphDefault, GraphEager, "NONE"}), 1, 3, rapid.ID[string]).Draw(t, "modes")
	c.Arms = rapid.SampledFrom([][]string{{Off, On}, {On, Off}, {Unpatched, Off, On}}).Draw(t, "arms")
	p := &Plan{Name: "p", Campaign: c}
	for i := range rapid.IntRange(1, 3).Draw(t, "loads") {
		p.Loads = append(p.Loads, Load{fmt.Sprint("l", i), generatorDefaults()})
	}
	return p
}

func TestRunsOfAnyPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		first, both := p.Runs(false), p.Runs(true)
		if !reflect.DeepEqual(first, both[:len(first)]) {
			t.Fatal("a second look moves the runs of the first")
		}
		if !reflect.DeepEqual(both, p.Runs(true)) {
			t.Fatal("the list is not the same twice")
		}
		cells, arms := len(p.Cells()), len(p.Campaign.Arms)
		after := min(p.Campaign.Windows, 1) + min(p.Campaign.ExpertRequests, 1)
		if want := cells * (arms*(p.Campaign.WarmUpRuns+p.Campaign.Pairs) + after); len(first) != want {
			t.Fatalf("%d runs, want %d", len(first), want)
		}
		ids, balance, profiled := map[string]bool{}, map[int]int{}, map[int]bool{}
		for i, r := range both {
			if r.Index != i || ids[r.ID()] {
				t.Fatalf("run %d is %d, %s", i, r.Index, r.ID())
			}
			ids[r.ID()] = true
			if r.Kind != Measured {
				profiled[r.Cell.Index] = profiled[r.Cell.Index] || r.Kind == Windows
				continue
			}
			if profiled[r.Cell.Index] && r.Look == 1 {
				t.Fatalf("%s is measured after the windows of its cell", r.ID())
			}
			if next := i + 1; r.Slot < arms-1 && (both[next].Pair != r.Pair || both[next].Slot != r.Slot+1 || both[next].Cell != r.Cell) {
				t.Fatalf("%s is followed by %s", r.ID(), both[next].ID())
			}
			if r.Slot == 0 && r.Look == 1 {
				balance[r.Cell.Index] += map[string]int{"AB": 1, "BA": -1}[r.Order]
			}
			place := map[string]int{}
			for _, s := range both[i-r.Slot : i-r.Slot+arms] {
				place[s.Arm] = s.Slot
			}
			if d := place[On] - place[Off]; d != map[string]int{"AB": 1, "BA": -1}[r.Order] {
				t.Fatalf("%s: order %s, on runs %d after off", r.ID(), r.Order, d)
			}
		}
		for cell, b := range balance {
			if want := p.Campaign.Pairs % 2; b != want && b != -want {
				t.Fatalf("cell %d: %d more pairs of one order", cell, b)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(serverconf.Example())
	f.Add(server + "[campaign]\npairs = 6\n[campaign.load.a]\n[campaign.metric.x]\nfield='f'\nbetter='lower'\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("c.toml", text)
		if err != nil {
			return
		}
		if p.Campaign.Pairs <= 20 && len(p.Cells()) <= 20 && len(p.Runs(false)) < 2*p.Campaign.Pairs {
			t.Fatalf("%d runs of %d pairs", len(p.Runs(false)), p.Campaign.Pairs)
		}
	})
}

// The example that `opprof config init --server` writes is a plan of its own, shows every key, and says of those behind a # what they are when
// they are left out.
func TestTheExample(t *testing.T) {
	text := serverconf.Example()
	p, err := Parse("campaign.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	if n := p.Needs(); n.Cells != 9 || n.GPUs != 4 || len(p.Warnings) > 0 || p.Campaign.Pairs < gate.WarnPairs {
		t.Errorf("%+v, %q", n, p.Warnings)
	}
	_, section, _ := strings.Cut(text, "\n[campaign]\n")
	shown, err := Parse("campaign.toml", server+"[campaign]\n"+regexp.MustCompile(`(?m)^# (\w+ = )`).ReplaceAllString(section, "$1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, plan := range []*Plan{p, shown} { // empty and left out are the same
		plan.Campaign.Loads, plan.Server = nil, serverconf.Server{}
		for i := range plan.Loads {
			plan.Loads[i].Args, plan.Loads[i].Command = nil, nil
		}
		plan.Campaign.Load = nil
	}
	if !reflect.DeepEqual(shown, p) {
		t.Errorf("with its comments\n%+v\nwithout\n%+v", shown, p)
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[Campaign](), reflect.TypeFor[Generator](), reflect.TypeFor[MetricSpec]()} {
		for i := range typ.NumField() {
			key := regexp.QuoteMeta(typ.Field(i).Tag.Get("toml")) + ` = `
			if typ.Field(i).Type.Kind() != reflect.Map && !regexp.MustCompile(`(?m)^# [A-Z"a-z].*\n#? *`+key+`|^#? *`+key+`.* # \w`).MatchString(section) {
				t.Errorf("it does not show and explain %s", key)
			}
		}
	}
}

// The campaign for CPUs makes the whole chain in its first cell.
func TestTheCampaignForCPUs(t *testing.T) {
	p, err := Read("../../testdata/campaign/cpu.toml")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[Kind]int{}
	for _, r := range p.Runs(false) {
		kinds[r.Kind]++
	}
	if want := map[Kind]int{WarmUp: 2, Measured: 4, Windows: 1, Experts: 1}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("%v", kinds)
	}
}
