package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"opprof/campaign/plan"
	"opprof/engine/rundir"
	"opprof/traces/experts"
)

// completion is a request whose routed experts are returned: not streamed, since streams do not carry them
// (vllm/entrypoints/openai/completion/protocol.py).
type completion struct {
	Model       string  `json:"model"`
	Prompt      string  `json:"prompt"`
	Truncate    int     `json:"truncate_prompt_tokens"`
	MaxTokens   int     `json:"max_tokens"`
	Temperature float64 `json:"temperature"`
	IgnoreEOS   bool    `json:"ignore_eos"`
	Seed        int64   `json:"seed"`
}

// collect sends the requests of an experts run one after the other and keeps each response as it came.
func (m *measurement) collect(ctx context.Context, s Server) error {
	dir := filepath.Join(m.dir, rundir.ExpertsName)
	if err := os.MkdirAll(dir, rundir.DirMode); err != nil {
		m.void("cannot make %s: %v", dir, err)
		return nil
	}
	load, _ := m.plan.Load(m.run.Cell.Load)
	name := m.server.ServedName
	if name == "" {
		name = m.server.Model
	}
	until := time.Now().Add(deadline(load))
	for i := range m.plan.Campaign.ExpertRequests {
		request, err := json.Marshal(completion{Model: name, Prompt: prompt(m.plan.Campaign.Seed, i, load), Truncate: load.InputTokens, MaxTokens: load.OutputTokens,
			IgnoreEOS: true, Seed: m.plan.Campaign.Seed})
		if err != nil {
			return err
		}
		one, cancel := context.WithDeadline(ctx, until)
		response, err := s.Complete(one, request)
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = m.keep(filepath.Join(dir, fmt.Sprintf("response-%03d.json", i+1)), response)
		}
		if err != nil {
			m.void("request %d of %d: %v", i+1, m.plan.Campaign.ExpertRequests, err)
			return nil
		}
	}
	return nil
}

// keep writes a response down if it carries routed experts.
func (m *measurement) keep(path string, response []byte) error {
	var problem error
	err := experts.ReadResponses(strings.NewReader(string(response)), experts.MaxArrayBytes, func(_ *experts.Array, err error) { problem = errors.Join(problem, err) })
	if err := errors.Join(err, problem); err != nil && !errors.Is(err, experts.ErrTokens) {
		return err
	}
	if err := rundir.WriteAtomic(path, func(w io.Writer) error { _, err := w.Write(response); return err }); err != nil {
		return err
	}
	m.outcome.Responses++
	return nil
}

// prompt is a text of at least as many tokens as a load's prompts have, the same for the same seed and number. The server cuts it to length.
func prompt(seed int64, number int, l plan.Load) string {
	words := strings.Fields(`the time of a step depends on what it holds so we count tokens for every layer and ask how evenly work falls over
		river stone paper light engine window garden number morning question answer winter copper silver forest letter music seven twelve hundred
		while because between never always often sometimes rather quickly slowly under above before after with without`)
	r := rand.New(rand.NewPCG(uint64(seed), uint64(number)))
	var b strings.Builder
	for range l.InputTokens {
		b.WriteString(words[r.IntN(len(words))])
		b.WriteByte(' ')
	}
	return b.String()
}
