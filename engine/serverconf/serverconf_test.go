package serverconf

import (
	"bytes"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestAFileIsReadStrictly(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"misspelled", "[server]\nmodel = 'm'\ntensor_paralel = 2\n", `c.toml:3: unknown key "server.tensor_paralel"; did you mean "server.tensor_parallel"?`},
		{"of another table", "[server]\nmodel = 'm'\ngzip = true\n", `c.toml:3: unknown key "server.gzip"; did you mean "server.profiler.gzip"?`},
		{"in a sub-table", "[server]\nmodel = 'm'\n[server.profiler]\n\nstack = true\n", `c.toml:5: unknown key "server.profiler.stack"; did you mean "server.profiler.stacks"?`},
		{"dotted", "[server]\nmodel = 'm'\nprofiler.shape = true", `c.toml:3: unknown key "server.profiler.shape"; did you mean "server.profiler.shapes"?`},
		{"unknown table", "[server]\nmodel = 'm'\n[sever]\nx = 1\n", `c.toml:3: unknown key "sever"; did you mean "server"?`},
		{"nothing like it", "[server]\nmodel = 'm'\nzzzzzzz = 1\n", `c.toml:3: unknown key "server.zzzzzzz"`},
		{"another type", "[server]\nmodel = 'm'\nport = 'x'\n", "c.toml:3: server.port: "},
		{"not TOML", "[server]\nmodel = \n", "c.toml:2: "},
		{"duration", "[server]\nmodel = 'm'\nshutdown_timeout = '30'\n", `"30" is not a duration`},
		{"no section", "[campaign]\nx = 1\n", "has no [server] section"},
		{"no model", "[server]\nport = 1\n", "c.toml:1: model: expected a folder"},
		{"port", "[server]\nmodel = 'm'\nport = 70000\n", "c.toml:3: port: 70000"},
		{"schedule", "[server]\nmodel = 'm'\n[server.profiler]\nschedule = 'x'\n", `c.toml:4: profiler.schedule: "x"`},
		{"secret", "[server]\nmodel = 'm'\n[server.env]\nHF_TOKEN = 'x'\n", "HF_TOKEN looks like a secret"},
		{"two at once", "[server]\nmodel = 'm'\nx1 = 1\non_hangup = 'x'\n", "\nc.toml:4: on_hangup: \"x\""},
	} {
		_, err := Parse("c.toml", c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
	}
}

func TestDefaultsAndOtherSections(t *testing.T) {
	s, err := Parse("c.toml", "[server]\nmodel = '/m'\n[campaign]\npairs = 6\n[campaign.load]\nrate = 1\n")
	want := Defaults()
	want.Model = "/m"
	if err != nil || !reflect.DeepEqual(s, want) {
		t.Errorf("%+v, %v", s, err)
	}
	if s.Address().String() != "http://127.0.0.1:8000" || s.Ranks() != 1 || time.Duration(s.ShutdownTimeout) != 30*time.Second {
		t.Errorf("%+v", s)
	}
}

func TestWhatIsWrittenReadsBack(t *testing.T) {
	s := Defaults()
	s.Model, s.UDS, s.TensorParallel = "/models/m \"x\"", "/run/v.sock", 2
	s.Args = []string{"--a", `{"b": "c"}`, "tab\t"}
	s.Env = map[string]string{"NCCL_DEBUG": "INFO"}
	s.Wrapper = []string{"numactl", "-m", "0"}
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	back, err := Parse("c.toml", b.String())
	if err != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("%v\n%+v\n%+v\n%s", err, back, s, b.String())
	}
}

func TestSecrets(t *testing.T) {
	for name, want := range map[string]bool{"VLLM_API_KEY": true, "HF_TOKEN": true, "hf_token": true, "AWS_SECRET_ACCESS": true, "PGPASSWORD": true,
		"CUDA_VISIBLE_DEVICES": false, "VLLM_USE_V2_MODEL_RUNNER": false, "NCCL_DEBUG": false} {
		if Secret(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("[server]\nmodel = 'm'\n[server.env]\nA = 'b'\n")
	f.Add("server.model = 1\n[[server]]\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := Parse("f", text); err == nil && s.Model == "" {
			t.Error("a server without a model")
		}
	})
}

// TestTheExample: it is the repository's own file, its values are valid, and what it calls a default is one.
func TestTheExample(t *testing.T) {
	top, err := os.ReadFile("../../campaign.toml")
	if err != nil || string(top) != Example() {
		t.Errorf("campaign.toml and engine/serverconf/campaign.toml differ (%v)", err)
	}
	s, err := Parse("campaign.toml", Example())
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?m)^# (\w+ = [^#\n]*|\[server\.\w+\]$)`).ReplaceAllString(Example(), "$1")
	all, err := Parse("campaign.toml", shown)
	if err != nil {
		t.Fatal(err)
	}
	all.Wrapper, all.Env = nil, nil // examples, not defaults
	if !reflect.DeepEqual(all, s) {
		t.Errorf("with its comments\n%+v\nwithout\n%+v", all, s)
	}
	for key := range known() {
		name := key[strings.LastIndexByte(key, '.')+1:]
		if key != "campaign" && !strings.Contains(Example(), name) {
			t.Errorf("it does not show %s", key)
		}
	}
}
