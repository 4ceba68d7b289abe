package vllm

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseLogLine(t *testing.T) {
	for in, want := range map[string]LogLine{
		"(EngineCore pid=12) WARNING 11-30 01:57:19 [scheduler.py:192] slow down": {Process: "EngineCore", PID: 12, Level: LevelWarning,
			Time: LogTime{11, 30, 1, 57, 19}, Source: "scheduler.py:192", Message: "slow down"},
		"(Worker_TP0 pid=7) INFO 01-02 03:04:05 [a.py:1] ": {Process: "Worker_TP0", PID: 7, Level: LevelInfo, Time: LogTime{1, 2, 3, 4, 5}, Source: "a.py:1"},
		`(APIServer pid=3) INFO:     127.0.0.1:1 - "GET /health HTTP/1.1" 200 OK`: {Process: "APIServer", PID: 3, Level: LevelInfo,
			Message: `127.0.0.1:1 - "GET /health HTTP/1.1" 200 OK`},
		"ERROR 11-30 01:57:19 [x.py:9] boom":                   {Level: LevelError, Time: LogTime{11, 30, 1, 57, 19}, Source: "x.py:9", Message: "boom"},
		"Traceback (most recent call last):":                   {Message: "Traceback (most recent call last):"},
		"(Worker pid=1) Capturing:   0%\rCapturing:  50%| 1/2": {Process: "Worker", PID: 1, Message: "Capturing:  50%| 1/2"},
		"":                            {},
		"(not a signature) INFO":      {Message: "(not a signature) INFO"},
		"INFO 99-99 99:99:99 [x] odd": {Level: LevelInfo, Time: LogTime{99, 99, 99, 99, 99}, Source: "x", Message: "odd"},
	} {
		if got := ParseLogLine(in); got != want {
			t.Errorf("ParseLogLine(%q)\n got %+v\nwant %+v", in, got, want)
		}
	}
}

func TestCalendarFindsZoneAndYear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wall := time.Unix(rapid.Int64Range(1_600_000_000, 2_000_000_000).Draw(t, "wall"), 0).UTC()
		zone := time.Duration(rapid.IntRange(-12*4, 14*4).Draw(t, "zone")) * 15 * time.Minute
		lag := time.Duration(rapid.IntRange(-400, 400).Draw(t, "lag")) * time.Second
		local := wall.Add(zone).Add(lag)
		line := LogTime{int8(local.Month()), int8(local.Day()), int8(local.Hour()), int8(local.Minute()), int8(local.Second())}
		if got := NewCalendar(line, wall.UnixNano()).WallNS(line); got != wall.Add(lag).UnixNano() {
			t.Fatalf("%v in zone %v reads as %v, want %v", line, zone, time.Unix(0, got).UTC(), wall.Add(lag))
		}
	})
	if (Calendar{}).WallNS(LogTime{1, 1, 1, 1, 1}) != 0 || NewCalendar(LogTime{1, 1, 0, 0, 0}, 1).WallNS(LogTime{}) != 0 {
		t.Error("an unknown time is not unknown")
	}
}

const startLog = `(APIServer pid=5) INFO 11-30 01:54:47 [api_utils.py:273] non-default args: {'model': 'm', 'port': 80, 'x': {'a': [1, 2], 'b': 'c, d'}, 'p': P(q='r', s=1)}
(APIServer pid=5) INFO 11-30 01:54:47 [model.py:598] Resolved architecture: Qwen3MoeForCausalLM
(EngineCore pid=6) INFO 11-30 01:55:08 [core.py:114] Initializing a V1 LLM engine (v0.24.0) with config: model='m'
(Worker_TP0 pid=7) INFO 11-30 01:55:36 [gpu_model_runner.py:5160] Starting to load model m...
(Worker_TP0 pid=7) Loading safetensors checkpoint shards:  50% Completed | 8/16 [00:01<00:01]
(Worker_TP0 pid=7) INFO 11-30 01:55:36 [cuda.py:480] Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN'].
(Worker_TP0 pid=7) INFO 11-30 01:55:36 [unquantized.py:247] Using TRITON Unquantized MoE backend out of potential backends: ['TRITON'].
(Worker_TP0 pid=7) INFO 11-30 01:55:38 [gpu_model_runner.py:5255] Model loading took 28.46 GiB memory and 0.78 seconds
(Worker_TP0 pid=7) INFO 11-30 01:56:32 [monitor.py:53] torch.compile took 53.42 s in total
(EngineCore pid=6) INFO 11-30 01:56:49 [kv_cache_utils.py:2146] GPU KV cache size: 112,000 tokens
(Worker_TP0 pid=7) Capturing CUDA graphs (decode, FULL):  50%|#| 25/50 [00:01<00:01]` + "\r" + `Capturing CUDA graphs (decode, FULL):  52%|#| 26/50 [00:01<00:01]
(Worker_TP0 pid=7) INFO 11-30 01:57:17 [gpu_model_runner.py:6656] Graph capturing finished in 27 secs, took 0.68 GiB
(APIServer pid=5) INFO 11-30 01:57:21 [api_server.py:581] Starting vLLM server on http://127.0.0.1:8011
(APIServer pid=5) INFO:     Application startup complete.
(APIServer pid=5) INFO 11-30 01:59:48 [launcher.py:100] [shutdown] API server: shutdown triggered`

func TestStartup(t *testing.T) {
	var s Startup
	phases := []string{s.Phase().Name}
	for i, line := range strings.Split(startLog, "\n") {
		s.Add(int64(i+1), ParseLogLine(line))
		p := s.Phase()
		if p.Name != phases[len(phases)-1] {
			phases = append(phases, p.Name)
		}
		switch i {
		case 4:
			if p != (Phase{PhaseWeights, 8, 16}) {
				t.Errorf("while loading: %+v", p)
			}
		case 10:
			if p != (Phase{PhaseGraphs, 26, 50}) {
				t.Errorf("while capturing: %+v", p)
			}
		}
	}
	want := []string{PhaseLaunch, PhaseConfig, PhaseEngine, PhaseWeights, PhaseCompile, PhaseKVCache, PhaseGraphs, PhaseWarmup, PhaseRoutes, PhaseReady, PhaseStopping}
	if !slices.Equal(phases, want) {
		t.Errorf("phases %v, want %v", phases, want)
	}
	facts := map[string]string{}
	for _, f := range s.Facts() {
		facts[f.Name] = f.Value
	}
	for name, value := range map[string]string{"vLLM version": "0.24.0", "architecture": "Qwen3MoeForCausalLM", "attention backend": "FLASH_ATTN", "MoE backend": "TRITON",
		"weights": "28.46 GiB in 0.78 s", "compilation": "53.42 s", "KV cache size": "112,000 tokens", "graph capture": "27 s, 0.68 GiB", "address": "http://127.0.0.1:8011"} {
		if facts[name] != value {
			t.Errorf("fact %s is %q, want %q", name, facts[name], value)
		}
	}
	args := []Arg{{"model", "m"}, {"port", "80"}, {"x", "{'a': [1, 2], 'b': 'c, d'}"}, {"p", "P(q='r', s=1)"}}
	if !slices.Equal(s.Args(), args) {
		t.Errorf("arguments %q", s.Args())
	}
}

// TestTheEngineDecidesTheScheduling: the API server says what was asked for, an engine on a CPU takes it back.
func TestTheEngineDecidesTheScheduling(t *testing.T) {
	var s Startup
	for i, line := range []string{
		"(APIServer pid=5) INFO 11-30 08:11:55 [vllm.py:1006] Asynchronous scheduling is enabled.",
		"(EngineCore pid=6) INFO 11-30 08:12:49 [vllm.py:1006] Asynchronous scheduling is disabled.",
	} {
		s.Add(int64(i+1), ParseLogLine(line))
	}
	if want := []Fact{{Name: "scheduling", Value: "asynchronous disabled", Line: 2}}; !slices.Equal(s.Facts(), want) {
		t.Errorf("facts %+v, want %+v", s.Facts(), want)
	}
}

func TestMarkersKeepTheirOrder(t *testing.T) {
	if phaseMarkers[readyPhase-1].phase != PhaseReady {
		t.Errorf("marker %d is %s", readyPhase, phaseMarkers[readyPhase-1].phase)
	}
}

func TestMetrics(t *testing.T) {
	m, err := ReadMetrics(strings.NewReader("# HELP x y\nx{engine=\"0\",m=\"a\\\"b,c\"} 1.5\nx{engine=\"1\",m=\"z\"} 2\ny 3e3 1700\nbad\nz{a=\"} 1\nn NaN\n\nw{} +Inf"))
	if err != nil || m.BadLines != 2 || m.FirstBad == "" {
		t.Fatalf("%+v, %v", m, err)
	}
	for _, c := range []struct {
		name  string
		pairs []string
		want  float64
		ok    bool
	}{{"x", nil, 3.5, true}, {"x", []string{"engine", "1"}, 2, true}, {"x", []string{"engine", "9"}, 0, false}, {"y", nil, 3000, true}, {"n", nil, 0, false}, {"none", nil, 0, false}} {
		if got, ok := m.Sum(c.name, c.pairs...); got != c.want || ok != c.ok {
			t.Errorf("Sum(%s, %v) = %v, %v", c.name, c.pairs, got, ok)
		}
	}
	if v, ok := m.Label("x", "m"); v != `a"b,c` || !ok {
		t.Errorf("label m is %q, %v", v, ok)
	}
}

// byPattern reads a line by regular expressions, which say what the layout is in the shortest way.
func byPattern(s string) LogLine {
	var l LogLine
	s = strings.TrimRight(s, "\r\n")
	if m := regexp.MustCompile(`^\(([A-Za-z_0-9]+) pid=(\d+)\) ?`).FindStringSubmatch(s); m != nil {
		l.Process = m[1]
		l.PID, _ = strconv.ParseInt(m[2], 10, 64)
		s = s[len(m[0]):]
	}
	s = s[strings.LastIndexByte(s, '\r')+1:]
	const levels = "^(DEBUG|INFO|WARNING|ERROR|CRITICAL)"
	if m := regexp.MustCompile(levels + ` (\d\d)-(\d\d) (\d\d):(\d\d):(\d\d) \[([^\]]*)\] ?`).FindStringSubmatch(s); m != nil {
		l.Level, l.Source = parseLevel(m[1]), m[7]
		for i, part := range []*int8{&l.Time.Month, &l.Time.Day, &l.Time.Hour, &l.Time.Minute, &l.Time.Second} {
			v, _ := strconv.Atoi(m[2+i])
			*part = int8(v)
		}
		s = s[len(m[0]):]
	} else if m := regexp.MustCompile(levels + `: +`).FindStringSubmatch(s); m != nil {
		l.Level = parseLevel(m[1])
		s = s[len(m[0]):]
	}
	l.Message = s
	return l
}

func FuzzLines(f *testing.F) {
	for _, l := range strings.Split(startLog, "\n") {
		f.Add(l)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var s Startup
		l := ParseLogLine(line)
		if want := byPattern(line); l != want {
			t.Fatalf("%q\n got %+v\nwant %+v", line, l, want)
		}
		s.Add(1, l)
		if len(l.Message) > len(line) || len(s.Facts()) > len(factRules) {
			t.Fatalf("%q gave %+v and %d facts", line, l, len(s.Facts()))
		}
		NewCalendar(l.Time, 1).WallNS(l.Time)
	})
}

func FuzzMetrics(f *testing.F) {
	f.Add("x{a=\"b\"} 1\ny 2")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ReadMetrics(strings.NewReader(text))
		if err == nil && int(m.BadLines)+len(m.Samples) > strings.Count(text, "\n")+1 {
			t.Fatalf("%d bad and %d good lines of %q", m.BadLines, len(m.Samples), text)
		}
	})
}

// An answer with more samples than any server has is given up before it fills the memory, and what is not a number is quoted in short.
func TestMetricsWithoutEnd(t *testing.T) {
	m, err := ReadMetrics(strings.NewReader(strings.Repeat("a 1\n", maxSamples+1)))
	if err == nil || !strings.Contains(err.Error(), "line 100001: more than 100000 samples") || len(m.Samples) != maxSamples {
		t.Errorf("%d samples, %v", len(m.Samples), err)
	}
	m, err = ReadMetrics(strings.NewReader("a \x1b[31m" + strings.Repeat("x", 1<<20)))
	if err != nil || m.BadLines != 1 || len(m.FirstBad) > 200 || strings.Contains(m.FirstBad, "\x1b") {
		t.Errorf("%v: %.300q", err, m.FirstBad)
	}
}
