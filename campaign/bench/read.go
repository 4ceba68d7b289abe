package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// MaxBytes bounds a result file: detailed results of ten thousand requests take some tens of megabytes.
const MaxBytes = 1 << 30

// Read reads the results of a file: one for most generators; several where results were appended or a report holds several loads. format is
// vllm, guidellm, aiperf or inference-perf; "" tells by the content. name is for messages.
func Read(r io.Reader, name, format string) ([]*Result, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read results: %s: %w", name, err)
	}
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("cannot read results: %s is larger than %d bytes", name, MaxBytes)
	}
	d := json.NewDecoder(bytes.NewReader(plainJSON(text)))
	var out []*Result
	for {
		var v map[string]json.RawMessage
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) && len(out) > 0 {
			return out, nil
		}
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("cannot read results: %s is empty", name)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read results: %s, byte %d: expected a JSON object: %w", name, d.InputOffset(), err)
		}
		results, err := parse(v, format)
		if err != nil {
			return nil, fmt.Errorf("cannot read results: %s: %w", name, err)
		}
		out = append(out, results...)
	}
}

func parse(v map[string]json.RawMessage, format string) ([]*Result, error) {
	has := func(keys ...string) bool {
		return !slices.ContainsFunc(keys, func(k string) bool { _, ok := v[k]; return !ok })
	}
	if format == "" {
		switch {
		case has("benchmarks"):
			format = "guidellm"
		case has("successes", "load_summary"):
			format = "inference-perf"
		case has("completed", "duration"):
			format = "vllm"
		case has("request_throughput") && bytes.HasPrefix(v["request_throughput"], []byte("{")):
			format = "aiperf"
		default:
			return nil, errors.New("not a result of vllm bench serve, GuideLLM, AIPerf or inference-perf")
		}
	}
	switch format {
	case "vllm":
		return one(readVLLM(v))
	case "aiperf":
		return one(readAIPerf(v))
	case "inference-perf":
		return one(readInferencePerf(v))
	case "guidellm":
		return readGuideLLM(v)
	}
	return nil, fmt.Errorf("%q is no format: expected vllm, guidellm, aiperf or inference-perf", format)
}

func one(r *Result, err error) ([]*Result, error) {
	if err != nil {
		return nil, err
	}
	return []*Result{r}, nil
}

// plainJSON replaces NaN, Infinity and -Infinity, which Python writes and JSON does not know, by null.
func plainJSON(text []byte) []byte {
	if !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
		return text
	}
	var out bytes.Buffer
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if !quoted {
			if word := pythonNumber(text[i:]); word != "" {
				out.WriteString("null")
				i += len(word) - 1
				continue
			}
		}
		out.WriteByte(c)
		switch {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted && i+1 < len(text):
			i++
			out.WriteByte(text[i])
		}
	}
	return out.Bytes()
}

func pythonNumber(text []byte) string {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(text, []byte(word)) {
			return word
		}
	}
	return ""
}

// number reads a JSON number; nil for null and everything else.
func number(raw json.RawMessage) *float64 {
	var v *float64
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil
	}
	return v
}

// count reads a whole, non-negative number; nil for everything else.
func count(raw json.RawMessage) *int64 {
	v := number(raw)
	if v == nil || *v < 0 || *v > 1<<53 || *v != float64(int64(*v)) {
		return nil
	}
	n := int64(*v)
	return &n
}

func text(raw json.RawMessage) string {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return ""
	}
	return strings.TrimSpace(s)
}
