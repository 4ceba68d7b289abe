package runner

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"opprof/campaign/bench"
	"opprof/campaign/plan"
	"opprof/engine/journal"
	"opprof/engine/regular"
	"opprof/engine/rundir"
	"opprof/engine/serverconf"
	"opprof/engine/supervisor/process"
)

// NewLoads runs load generators as child processes that inherit environ. `vllm bench serve` looks for the server's API key under the name that
// clients of OpenAI use (vllm/benchmarks/lib/endpoint_request_func.py).
func NewLoads(environ []string) Loads {
	if key, _ := process.Variable(environ, "VLLM_API_KEY"); key != "" {
		environ = append(environ[:len(environ):len(environ)], "OPENAI_API_KEY="+key)
	}
	return &loads{environ: environ, versions: map[string]string{}}
}

type loads struct {
	environ  []string
	versions map[string]string // by interpreter; one goroutine asks
}

// patience is how long a generator that was asked to end may take before it is killed, and its last processes until they are gone.
const (
	patience  = 5 * time.Second
	reapEvery = 20 * time.Millisecond
)

// Run implements Loads.
func (l *loads) Run(ctx context.Context, w Work, started func(process.Identity) error) (LoadEnd, error) {
	if err := os.MkdirAll(w.Dir, rundir.DirMode); err != nil {
		return LoadEnd{}, err
	}
	env := append(append([]string{}, l.environ...), w.Env...)
	p, err := process.Start(process.Spec{Argv: w.Argv, Env: env, Dir: w.Dir, Log: w.Log}, journal.BootID())
	if err != nil {
		return LoadEnd{}, err
	}
	told := started(p.Leader)
	if told == nil {
		select {
		case <-p.Exited():
		case <-ctx.Done():
		}
	}
	end(p)
	return LoadEnd{Exit: p.Exit(), Tail: tail(w.Log)}, told
}

// end asks a generator to end, kills what is left of it, and waits for it.
func end(p *process.Server) {
	select {
	case <-p.Exited():
	default:
		_ = p.Terminate()
		limit := time.NewTimer(patience)
		defer limit.Stop()
		select {
		case <-p.Exited():
		case <-limit.C:
		}
	}
	p.Kill()
	<-p.Exited()
	// A process that was killed needs a moment until it is gone.
	limit := time.NewTimer(patience)
	defer limit.Stop()
	ticker := time.NewTicker(reapEvery)
	defer ticker.Stop()
	for len(p.Members()) > 0 {
		select {
		case <-limit.C:
			return
		case <-ticker.C:
		}
	}
}

// Kill implements Loads.
func (l *loads) Kill(id process.Identity) {
	if id.Alive(journal.BootID()) {
		process.Family{Leader: id}.Kill()
	}
}

// Open implements Loads.
func (l *loads) Open(path string) (io.ReadCloser, time.Time, error) {
	path, err := bench.Find(path)
	if err != nil {
		return nil, time.Time{}, err
	}
	f, err := regular.Open(path)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("cannot read results: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, time.Time{}, err
	}
	return f, st.ModTime(), nil
}

// versionLimit bounds the question for a version.
const versionLimit = 30 * time.Second

// Version implements Loads. Of another command than vLLM's its results have to tell.
func (l *loads) Version(ctx context.Context, s serverconf.Server, load plan.Load) string {
	if len(load.Command) > 0 {
		return filepath.Base(load.Command[0])
	}
	if v, ok := l.versions[s.Python]; ok {
		return v
	}
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	argv := bench.Version(s)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.WaitDelay = l.environ, time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	l.versions[s.Python] = "vllm bench serve " + strings.TrimSpace(string(out))
	return l.versions[s.Python]
}

// tailBytes is how much of a log's end is looked at for its last words.
const tailBytes = 4096

// tail is the last line of a log that says something.
func tail(path string) string {
	f, err := regular.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > tailBytes {
		if _, err := f.Seek(-tailBytes, io.SeekEnd); err != nil {
			return ""
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, tailBytes))
	if err != nil {
		return ""
	}
	text = bytes.TrimSpace(text)
	return strings.ToValidUTF8(string(text[bytes.LastIndexByte(text, '\n')+1:]), "?")
}
