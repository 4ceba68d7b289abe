package plan

import (
	"strings"
	"testing"
)

func TestLoadsThatNoPairCanComeOf(t *testing.T) {
	const args = "args = ['--max-model-len', '512']\n"
	for name, c := range map[string]struct{ server, load, want string }{
		"it fits exactly":             {args, "input_tokens = 480\noutput_tokens = 32", ""},
		"one token too many":          {args, "input_tokens = 481\noutput_tokens = 32", "load a: a prompt with its answer has up to 513 tokens, and --max-model-len is 512"},
		"only the longest do not fit": {args, "input_tokens = 400\noutput_tokens = 32\nrange_ratio = 0.5", "up to 648 tokens"},
		"in one word":                 {"args = ['--max_model_len=512']\n", "input_tokens = 600", "--max-model-len is 512"},
		"the last one counts":         {"args = ['--max-model-len=512', '--max-model-len', '4096']\n", "input_tokens = 600\noutput_tokens = 32", ""},
		"the model's own length":      {"", "input_tokens = 100000", ""},
		"a length in another way":     {"args = ['--max-model-len', '1k']\n", "input_tokens = 100000", ""},
		"nothing behind it":           {"args = ['--max-model-len']\n", "input_tokens = 100000", ""},
		"arguments that may win":      {args, "input_tokens = 600\nargs = ['--random-input-len', '6']", ""},
		"another generator":           {args, "input_tokens = 600\ncommand = ['x', '{result}']", ""},
		"one token":                   {"", "output_tokens = 1", "load a: an answer of one token has no time between tokens: without tpot_p50, tpot_p95 no pair counts"},
		"one token or two":            {"", "output_tokens = 1\nrange_ratio = 0.5", ""},
	} {
		p, err := Parse("c.toml", server+c.server+"[campaign.load.a]\n"+c.load+"\n")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := strings.Join(p.Warnings, "|"); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	p := parse(t, "[campaign.load.a]\noutput_tokens = 1\n[campaign.metric.t]\nfield = 'p50_ttft_ms'\nbetter = 'lower'\n")
	if len(p.Warnings) > 0 {
		t.Errorf("no metric needs a second token: %q", p.Warnings)
	}
}
