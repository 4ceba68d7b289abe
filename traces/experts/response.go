package experts

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// response is what a server's answer to /v1/completions, /v1/chat/completions or /inference/v1/generate says about routing.
type response struct {
	Choices []struct {
		Index         int             `json:"index"`
		RoutedExperts json.RawMessage `json:"routed_experts"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     int64 `json:"prompt_tokens"`
		CompletionTokens int64 `json:"completion_tokens"`
	} `json:"usage"`
}

// ReadResponses reads one response after another from r, or lists of them, and hands each choice's array, or why there is none, to take. limit
// bounds the data of an array in bytes. The error is of text that is not JSON; what came before it was taken.
func ReadResponses(r io.Reader, limit int64, take func(*Array, error)) error {
	d := json.NewDecoder(r)
	for n := 1; ; {
		var text json.RawMessage
		err := d.Decode(&text)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("response %d, byte %d: not JSON: %w", n, d.InputOffset(), err)
		}
		list := []json.RawMessage{text}
		if text[0] == '[' {
			list = nil
			if err := json.Unmarshal(text, &list); err != nil { // cannot be: it was decoded
				return err
			}
		}
		for _, one := range list {
			readResponse(one, n, limit, take)
			n++
		}
	}
}

func readResponse(text []byte, n int, limit int64, take func(*Array, error)) {
	var v response
	err := json.Unmarshal(text, &v)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field == "":
		take(nil, fmt.Errorf("response %d is a JSON %s: expected a server's response, or a list of them", n, wrong.Value))
	case errors.As(err, &wrong):
		take(nil, fmt.Errorf("response %d: %s is a JSON %s: expected a server's response", n, wrong.Field, wrong.Value))
	case err != nil:
		take(nil, fmt.Errorf("response %d: %w", n, err))
	case len(v.Choices) == 0:
		take(nil, fmt.Errorf("response %d has no choices: an error, or not a response of a server", n))
	default:
		v.each(n, limit, take)
	}
}

func (v *response) each(n int, limit int64, take func(*Array, error)) {
	var arrays []*Array
	for _, c := range v.Choices {
		a, err := decode(c.RoutedExperts, limit)
		if err != nil {
			take(nil, fmt.Errorf("response %d, choice %d: %w", n, c.Index, err))
			continue
		}
		arrays = append(arrays, a)
	}
	if err := v.count(arrays); err != nil {
		take(nil, fmt.Errorf("response %d: %w", n, err))
	}
	for _, a := range arrays {
		take(a, nil)
	}
}

// count compares the arrays with the tokens that the response counts. Every sequence has one token more than its array: its last is not
// routed. The counts of several choices come as a sum.
func (v *response) count(arrays []*Array) error {
	if v.Usage == nil || len(arrays) != len(v.Choices) {
		return nil
	}
	var have int64
	for _, a := range arrays {
		have += int64(a.Tokens)
	}
	n := int64(len(arrays))
	if want := n*v.Usage.PromptTokens + v.Usage.CompletionTokens - n; have != want {
		return fmt.Errorf("%w: arrays of %d tokens: expected %d, one fewer than prompt and completion of each choice", ErrTokens, have, want)
	}
	return nil
}

// ErrTokens says that an array is shorter or longer than its response counts; its ids are counted all the same.
var ErrTokens = errors.New("tokens do not agree")

// ErrNotReturned says that a response carries no routed experts: the server was started without them, or the response was streamed.
var ErrNotReturned = errors.New("no routed_experts: start the server with --enable-return-routed-experts and do not stream")

func decode(raw json.RawMessage, limit int64) (*Array, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, ErrNotReturned
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, errors.New("routed_experts is not a string: expected base64 of a NumPy file")
	}
	a, err := ReadNPY(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)), limit)
	if err != nil {
		return nil, fmt.Errorf("routed_experts: %w", err)
	}
	return a, nil
}
