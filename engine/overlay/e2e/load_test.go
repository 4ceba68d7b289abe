package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	modelName = "tiny"
	// windowSteps is the length of the profiler window.
	windowSteps = 6
	// requestLimit bounds one request, which takes milliseconds a token.
	requestLimit = 3 * time.Minute
)

// smallMemory forces preemptions: 23 usable blocks of 32 tokens hold two or three of the requests of forcedLoad.
// 128 tokens a step cut their prompts into chunks.
func smallMemory() []string {
	return []string{"--num-gpu-blocks-override", "24", "--max-num-batched-tokens", "128"}
}

// completion is what the client is told about one request. One character is one token for this model.
type completion struct {
	PromptTokens, OutputTokens, CachedTokens int64
	TokenIDs                                 []int64
}

// total adds up what the client was told.
func total(completions []completion) (t completion) {
	for _, c := range completions {
		t.PromptTokens += c.PromptTokens
		t.OutputTokens += c.OutputTokens
		t.CachedTokens += c.CachedTokens
	}
	return t
}

// complete asks for exactly n tokens, each the most probable one.
func (s *server) complete(ctx context.Context, prompt string, n int) (completion, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	body, err := s.call(ctx, http.MethodPost, "/v1/completions", map[string]any{
		"model": modelName, "prompt": prompt, "max_tokens": n, "temperature": 0, "ignore_eos": true, "return_token_ids": true,
	})
	if err != nil {
		return completion{}, err
	}
	var answer struct {
		Usage struct {
			Prompt  int64 `json:"prompt_tokens"`
			Output  int64 `json:"completion_tokens"`
			Details struct {
				Cached int64 `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		} `json:"usage"`
		Choices []struct {
			TokenIDs []int64 `json:"token_ids"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return completion{}, fmt.Errorf("%w: %s", err, body)
	}
	u := answer.Usage
	c := completion{PromptTokens: u.Prompt, OutputTokens: u.Output, CachedTokens: u.Details.Cached, TokenIDs: answer.Choices[0].TokenIDs}
	if len(prompt) != int(c.PromptTokens) || n != int(c.OutputTokens) || n != len(c.TokenIDs) {
		return c, fmt.Errorf("%d characters and %d tokens wanted, the server counts %+v", len(prompt), n, c)
	}
	return c, nil
}

// deterministicTrace sends requests one at a time: every batch is the same in every run.
func (s *server) deterministicTrace(t *testing.T) []completion {
	t.Helper()
	var done []completion
	for i, length := range []int{3, 40, 130, 300, 40, 17} {
		c, err := s.complete(t.Context(), text(i%3, length), 12+i)
		if err != nil {
			t.Fatal(err)
		}
		done = append(done, c)
	}
	return done
}

// forcedLoad sends more requests at once than the cache holds. They share a prefix of four blocks, and the first one
// runs alone, so that its blocks are there to be hit.
func (s *server) forcedLoad(t *testing.T) []completion {
	t.Helper()
	const concurrent = 10
	prefix := text(7, 4*32)
	first, err := s.complete(t.Context(), prefix+"alone", 4)
	if err != nil {
		t.Fatal(err)
	}
	done := make([]completion, concurrent)
	var requests sync.WaitGroup
	for i := range concurrent {
		requests.Go(func() {
			var err error
			if done[i], err = s.complete(t.Context(), prefix+text(10+i, 20+16*i), 60+i); err != nil {
				t.Error(err)
			}
		})
	}
	requests.Wait()
	return append(done, first)
}

// text is a prompt of n characters that differs from that of another seed from its start.
func text(seed, n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%d:%d ", seed*31+i, i*i)
	}
	return b.String()[:n]
}

// metrics reads the sums of the server's own counters, by name without labels.
func (s *server) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	body, err := s.call(t.Context(), http.MethodGet, "/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	lines := bufio.NewScanner(bytes.NewReader(body))
	for lines.Scan() {
		name, rest, ok := strings.Cut(lines.Text(), "{")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			t.Fatalf("metrics: %v in %q", err, lines.Text())
		}
		sums[name] += value
	}
	return sums
}
