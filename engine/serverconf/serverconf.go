// Package serverconf reads the [server] section of a campaign file: everything that a server is started with. Reading is strict: an unknown
// key is an error with its line and the nearest key that exists, since a misspelled setting that is silently ignored spoils a campaign.
package serverconf

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"opprof/engine/regular"
	"opprof/engine/vllm"
)

// Server is the [server] section.
type Server struct {
	Model            string            `toml:"model"`             // a folder or a name that vLLM can fetch
	ServedName       string            `toml:"served_model_name"` // "" is the model
	Python           string            `toml:"python"`            // interpreter that vLLM is installed for
	TensorParallel   int               `toml:"tensor_parallel"`
	PipelineParallel int               `toml:"pipeline_parallel"`
	DataParallel     int               `toml:"data_parallel"`
	Host             string            `toml:"host"`
	Port             int               `toml:"port"`
	UDS              string            `toml:"uds"`     // a Unix socket instead of host and port
	Args             []string          `toml:"args"`    // more arguments of vllm serve
	Env              map[string]string `toml:"env"`     // more variables; secrets belong into the environment itself
	Wrapper          []string          `toml:"wrapper"` // a program before the interpreter that becomes it, such as numactl
	Record           bool              `toml:"record"`  // write Layer-1 records
	Patch            bool              `toml:"patch"`   // start the patched copy; false: vLLM as it was installed, which cannot record
	ShutdownTimeout  Duration          `toml:"shutdown_timeout"`
	StartTimeout     Duration          `toml:"start_timeout"` // 0 is none
	OnHangup         string            `toml:"on_hangup"`     // keep or stop
	Profiler         Profiler          `toml:"profiler"`
}

// Profiler is the [server.profiler] section. Every field of vLLM's own configuration is set from it, since several of its defaults stall
// serving for seconds.
type Profiler struct {
	Enabled    bool   `toml:"enabled"`
	Schedule   string `toml:"schedule"`   // none, or torch: two warm-up steps and eight more, in the first window of a server only
	Iterations int    `toml:"iterations"` // labelled steps of a window; without a schedule the first two stand for the warm-up
	Stacks     bool   `toml:"stacks"`
	Shapes     bool   `toml:"shapes"`
	Memory     bool   `toml:"memory"`
	FLOPs      bool   `toml:"flops"`
	Table      bool   `toml:"table"` // the cuda-time table, built on the worker while it serves nobody
	Gzip       bool   `toml:"gzip"`  // compress in the worker; otherwise verified traces are compressed afterwards
}

// Schedules of a profiler.
const (
	ScheduleNone  = "none"
	ScheduleTorch = "torch"
)

// Duration is a time.Duration written as "30s".
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 {
		return fmt.Errorf("%q is not a duration such as 30s or 10m", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Defaults are the values of keys that a file leaves out.
func Defaults() Server {
	return Server{Python: "python3", TensorParallel: 1, PipelineParallel: 1, DataParallel: 1, Host: "127.0.0.1", Port: 8000, Record: true, Patch: true,
		ShutdownTimeout: Duration(30 * time.Second), StartTimeout: Duration(45 * time.Minute), OnHangup: "keep",
		Profiler: Profiler{Enabled: true, Schedule: ScheduleNone, Iterations: 10}}
}

// file is what a campaign file holds; sections of others are left to them.
type file struct {
	Server   Server         `toml:"server"`
	Campaign toml.Primitive `toml:"campaign"`
}

// textMax bounds the bytes of a campaign file; a real one has a few kB.
const textMax = 1 << 20

// Load reads a campaign file's [server] section and checks it. The error lists everything that is wrong with it.
func Load(path string) (Server, error) {
	text, err := regular.Read(path, textMax)
	if err != nil {
		return Server{}, fmt.Errorf("cannot read configuration: %w", err)
	}
	return Parse(path, string(text))
}

// Parse reads the text of a campaign file; path is for messages.
func Parse(path, text string) (Server, error) {
	in := file{Server: Defaults()}
	meta, err := toml.Decode(text, &in)
	if err != nil {
		return Server{}, decodeError(path, text, err)
	}
	if !meta.IsDefined("server") {
		return Server{}, fmt.Errorf("cannot read configuration: %s has no [server] section; opprof config init --server writes one", path)
	}
	var errs []error
	for _, key := range meta.Undecoded() {
		if key[0] == "campaign" {
			continue
		}
		errs = append(errs, fmt.Errorf("%s:%d: unknown key %q%s", path, lineOf(text, key), key.String(), nearest(key, known())))
	}
	for _, p := range in.Server.Check() {
		errs = append(errs, fmt.Errorf("%s:%d: %s", path, lineOf(text, append(toml.Key{"server"}, strings.Split(p.Key, ".")...)), p))
	}
	return in.Server, errors.Join(errs...)
}

func decodeError(path, text string, err error) error {
	var parse toml.ParseError
	if errors.As(err, &parse) {
		line := parse.Position.Line
		if line == 0 && parse.LastKey != "" {
			line = lineOf(text, strings.Split(parse.LastKey, "."))
		}
		return fmt.Errorf("cannot read configuration: %s:%d: %s: %s", path, max(line, 1), parse.LastKey, strings.TrimPrefix(parse.Message, "toml: "))
	}
	if m := typeError.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("cannot read configuration: %s:%s: %s: %s", path, m[1], m[2], m[3])
	}
	return fmt.Errorf("cannot read configuration: %s: %w", path, err)
}

// typeError is how the TOML library says that a value does not fit its key.
var typeError = regexp.MustCompile(`^toml: line (\d+) \(last key "([^"]*)"\): (.*)$`)

// Problem is a value that cannot be.
type Problem struct {
	Key  string // in [server]
	Text string
}

func (p Problem) String() string { return p.Key + ": " + p.Text }

// maxTogether bounds parallel sizes: a typo must not become a thousand processes.
const maxTogether = 1024

// Check lists what is wrong with the values, as far as that can be told without looking at the machine.
func (s Server) Check() []Problem {
	var out []Problem
	bad := func(wrong bool, key, format string, args ...any) {
		if wrong {
			out = append(out, Problem{key, fmt.Sprintf(format, args...)})
		}
	}
	bad(s.Model == "", "model", "expected a folder or a model's name")
	bad(s.Python == "", "python", "expected an interpreter, python3 for example")
	for key, n := range map[string]int{"tensor_parallel": s.TensorParallel, "pipeline_parallel": s.PipelineParallel, "data_parallel": s.DataParallel} {
		bad(n < 1 || n > maxTogether, key, "%d: expected 1 to %d", n, maxTogether)
	}
	bad(s.UDS == "" && (s.Port < 1 || s.Port > 65535), "port", "%d: expected 1 to 65535", s.Port)
	bad(s.UDS == "" && s.Host == "", "host", "expected an address; 127.0.0.1 keeps the profile endpoints, which ask for no password, to this machine")
	bad(s.Record && !s.Patch, "patch", "false: a server as it was installed cannot record; set record = false as well")
	bad(s.OnHangup != "keep" && s.OnHangup != "stop", "on_hangup", "%q: expected keep or stop", s.OnHangup)
	bad(s.ShutdownTimeout < Duration(time.Second), "shutdown_timeout", "%s: expected at least 1s, or the engine is killed before it has written its last records",
		time.Duration(s.ShutdownTimeout))
	p := s.Profiler
	bad(p.Schedule != ScheduleNone && p.Schedule != ScheduleTorch, "profiler.schedule", "%q: expected none or torch", p.Schedule)
	bad(p.Iterations < 3 || p.Iterations > 1000, "profiler.iterations", "%d: expected 3 to 1000; the first two are not measured", p.Iterations)
	for _, name := range sortedKeys(s.Env) {
		bad(Secret(name), "env", "%s looks like a secret: set it in the environment of opprof instead, from which the server inherits it; this file is copied into the run", name)
		bad(name == "" || strings.ContainsAny(name, "=\x00"), "env", "%q is not a variable's name", name)
	}
	slices.SortStableFunc(out, func(a, b Problem) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// Secret reports whether a variable's name says that its value must not be written down.
func Secret(name string) bool {
	name = strings.ToUpper(name)
	for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "COOKIE"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// Address is where the server will listen.
func (s Server) Address() vllm.Address {
	if s.UDS != "" {
		return vllm.Address{Socket: s.UDS}
	}
	return vllm.Address{Host: s.Host, Port: s.Port}
}

// Ranks are the worker processes of the whole server.
func (s Server) Ranks() int { return s.TensorParallel * s.PipelineParallel * s.DataParallel }

// Write writes the effective configuration, which Load reads again.
func (s Server) Write(w io.Writer) error {
	if _, err := io.WriteString(w, "# The effective configuration of this run, defaults included.\n"); err != nil {
		return err
	}
	return toml.NewEncoder(w).Encode(struct {
		Server Server `toml:"server"`
	}{s})
}
