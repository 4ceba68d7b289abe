package vllm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Address is where a server listens: a Unix socket, or a host and a port.
type Address struct {
	Socket string
	Host   string
	Port   int
}

// String is the address as it is shown and as ParseAddress reads it: http://host:port or unix:/path.
func (a Address) String() string {
	if a.Socket != "" {
		return "unix:" + a.Socket
	}
	return "http://" + net.JoinHostPort(a.Host, strconv.Itoa(a.Port))
}

// Local reports whether only this machine can reach the address.
func (a Address) Local() bool {
	if a.Socket != "" || a.Host == "localhost" {
		return true
	}
	ip := net.ParseIP(a.Host)
	return ip != nil && ip.IsLoopback()
}

// ParseAddress reads what String writes.
func ParseAddress(s string) (Address, error) {
	if path, ok := strings.CutPrefix(s, "unix:"); ok && path != "" {
		return Address{Socket: path}, nil
	}
	if rest, ok := strings.CutPrefix(s, "http://"); ok {
		host, port, err := net.SplitHostPort(strings.TrimRight(rest, "/"))
		n, numErr := strconv.Atoi(port)
		if err == nil && numErr == nil && n > 0 && n < 1<<16 {
			return Address{Host: host, Port: n}, nil
		}
	}
	return Address{}, fmt.Errorf("cannot read server address %q: expected http://host:port or unix:/path", s)
}

// Client calls the endpoints of a server that are not about requests. It is safe for concurrent use. Every call lasts as long as its
// context: an export of traces may take minutes (vllm/entrypoints/serve/profile/api_router.py answers when it is done).
type Client struct {
	http *http.Client
	base string
	key  string // of the API, "" for none
}

// NewClient prepares a client. It does not connect.
func NewClient(a Address) *Client {
	network, address := "tcp", net.JoinHostPort(dialHost(a.Host), strconv.Itoa(a.Port))
	if a.Socket != "" {
		network, address = "unix", a.Socket
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, network, address)
	}
	return &Client{base: "http://vllm", http: &http.Client{
		Transport:     &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Authorize makes the client send an API key, which vLLM wants for what lies under /v1.
func (c *Client) Authorize(key string) { c.key = key }

// dialHost is how a server that listens on all interfaces is reached from its own machine.
func dialHost(host string) string {
	switch host {
	case "", "0.0.0.0":
		return "127.0.0.1"
	case "::":
		return "::1"
	}
	return host
}

// Close gives idle connections back.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// ErrEngineDead is a server's own word that its engine is gone: it answers /health with 503.
var ErrEngineDead = errors.New("the server says that its engine is dead")

// Health asks /health. A hung engine is still healthy by this measure.
func (c *Client) Health(ctx context.Context) error {
	code, err := c.call(ctx, http.MethodGet, "/health")
	if code == http.StatusServiceUnavailable {
		return ErrEngineDead
	}
	return err
}

// StartProfile starts the profiler on all ranks of the server's engines.
func (c *Client) StartProfile(ctx context.Context) error {
	_, err := c.call(ctx, http.MethodPost, "/start_profile")
	return err
}

// StopProfile stops it; the answer comes when the traces are written. It must not be repeated after a lost answer.
func (c *Client) StopProfile(ctx context.Context) error {
	_, err := c.call(ctx, http.MethodPost, "/stop_profile")
	return err
}

// Profiles reports whether the profile endpoints are mounted: asked with the wrong method, an endpoint that exists answers 405.
func (c *Client) Profiles(ctx context.Context) (bool, error) {
	code, err := c.call(ctx, http.MethodGet, "/start_profile")
	switch code {
	case http.StatusMethodNotAllowed:
		return true, nil
	case http.StatusNotFound:
		return false, nil
	}
	return false, err
}

// maxAnswer bounds what is read of an answer; an error's body is a sentence.
const maxAnswer = 4096

func (c *Client) call(ctx context.Context, method, path string) (int, error) {
	resp, err := c.send(ctx, method, path)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode/100 != 2 {
		return resp.StatusCode, fmt.Errorf("%s %s: %s%s", method, path, resp.Status, sentence(body))
	}
	return resp.StatusCode, err
}

func (c *Client) send(ctx context.Context, method, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return nil, err
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("no answer to %s %s: %w", method, path, unwrapURL(err))
	}
	return resp, nil
}

// unwrapURL drops the address that net/http puts before every error: it is one we made up for the socket's sake.
func unwrapURL(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

func sentence(body []byte) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "?")), " ")
	if text == "" {
		return ""
	}
	return ": " + text[:min(len(text), 300)]
}
