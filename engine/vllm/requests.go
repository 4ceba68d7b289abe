package vllm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// maxCompletion bounds a response: with the routed experts of a long text it takes some MB.
const maxCompletion = 512 << 20

// Complete posts a request to /v1/completions and gives the response as it came.
func (c *Client) Complete(ctx context.Context, request []byte) ([]byte, error) {
	const path = "/v1/completions"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(request))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("no answer to POST %s: %w", path, unwrapURL(err))
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxCompletion+1))
	switch {
	case resp.StatusCode/100 != 2:
		return nil, fmt.Errorf("POST %s: %s%s", path, resp.Status, sentence(text[:min(len(text), maxAnswer)]))
	case err != nil:
		return nil, fmt.Errorf("the answer to POST %s broke off: %w", path, err)
	case int64(len(text)) > maxCompletion:
		return nil, fmt.Errorf("the answer to POST %s is larger than %d bytes", path, maxCompletion)
	}
	return text, nil
}
