package vllm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// ErrUnauthorized says that a server wants an API key, or another one.
var ErrUnauthorized = errors.New("the server wants an API key")

// Bounds of answers: a few hundred bytes of JSON, and some thousand lines of metrics.
const (
	maxJSON    = 1 << 20
	maxMetrics = 16 << 20
)

// ServedModel is one entry of /v1/models.
type ServedModel struct {
	ID          string `json:"id"`
	MaxModelLen *int64 `json:"max_model_len"` // tokens; nil unknown
}

// Version asks /version.
func (c *Client) Version(ctx context.Context) (string, error) {
	var v struct {
		Version string `json:"version"`
	}
	if err := c.readJSON(ctx, "/version", &v); err != nil {
		return "", err
	}
	if v.Version == "" {
		return "", errors.New("GET /version: the answer names no version")
	}
	return v.Version, nil
}

// Models asks /v1/models, which a server with an API key tells to whoever has it.
func (c *Client) Models(ctx context.Context) ([]ServedModel, error) {
	var v struct {
		Data []ServedModel `json:"data"`
	}
	err := c.readJSON(ctx, "/v1/models", &v)
	return v.Data, err
}

// Metrics asks /metrics. What was read before an error is given beside it.
func (c *Client) Metrics(ctx context.Context) (Metrics, error) {
	const path = "/metrics"
	resp, err := c.ok(ctx, path)
	if err != nil {
		return Metrics{}, err
	}
	defer resp.Body.Close()
	return ReadMetrics(io.LimitReader(resp.Body, maxMetrics))
}

// CopyMetrics writes what /metrics answers, as it comes.
func (c *Client) CopyMetrics(ctx context.Context, w io.Writer) error {
	const path = "/metrics"
	resp, err := c.ok(ctx, path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	n, err := io.Copy(w, io.LimitReader(resp.Body, maxMetrics+1))
	if err == nil && n > maxMetrics {
		err = fmt.Errorf("the answer to GET %s is larger than %d bytes", path, maxMetrics)
	}
	return err
}

func (c *Client) readJSON(ctx context.Context, path string, into any) error {
	resp, err := c.ok(ctx, path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxJSON)).Decode(into); err != nil {
		return fmt.Errorf("GET %s: the answer is not what vLLM says: %w", path, err)
	}
	return nil
}

// ok is the answer to a question that was answered well.
func (c *Client) ok(ctx context.Context, path string) (*http.Response, error) {
	resp, err := c.send(ctx, http.MethodGet, path)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return nil, fmt.Errorf("GET %s: %w", path, ErrUnauthorized)
	}
	return nil, fmt.Errorf("GET %s: %s", path, resp.Status)
}
