package plan

import (
	"math"
	"strconv"
	"strings"
)

// fits warns of loads that no pair can come of: requests that the server refuses, and answers without a time between tokens. It goes by what a
// load says itself: a generator of another kind, or arguments that win over it, may do otherwise.
func (r *reader) fits() {
	room, limited := maxModelLen(r.plan.Server.Args)
	between := strings.Join(r.betweenTokens(), ", ")
	for _, l := range r.plan.Loads {
		if len(l.Command) > 0 || len(l.Args) > 0 {
			continue
		}
		out := longest(l.OutputTokens, l.RangeRatio)
		most := longest(l.InputTokens, l.RangeRatio) + out
		r.warn(limited && most > room, "load %s: a prompt with its answer has up to %d tokens, and --max-model-len is %d: the server refuses such requests, which voids the pair",
			l.Name, most, room)
		r.warn(out <= 1 && between != "", "load %s: an answer of one token has no time between tokens: without %s no pair counts", l.Name, between)
	}
}

// longest is the greatest length that the random prompts of `vllm bench serve` are drawn from.
func longest(tokens int, ratio float64) int { return int(math.Ceil(float64(tokens) * (1 + ratio))) }

// betweenTokens are the names of metrics that need a second token.
func (r *reader) betweenTokens() (names []string) {
	for _, m := range r.plan.Metrics {
		if m.BetweenTokens() {
			names = append(names, m.Name)
		}
	}
	return names
}

// maxModelLen is the longest request that the arguments of `vllm serve` allow; not known where they leave it to the model, or give it as 40k.
func maxModelLen(args []string) (tokens int, ok bool) {
	for i, a := range args {
		key, value, joined := strings.Cut(a, "=")
		if strings.ReplaceAll(key, "_", "-") != "--max-model-len" {
			continue
		}
		if !joined {
			if i+1 == len(args) {
				return 0, false
			}
			value = args[i+1]
		}
		n, err := strconv.Atoi(value)
		tokens, ok = n, err == nil && n > 0
	}
	return tokens, ok
}
