package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Client speaks to one supervisor. It is safe for concurrent use; every call ends with its context.
type Client struct {
	http     *http.Client
	readOnly bool
}

// Error is what a supervisor answered instead of what was asked.
type Error struct {
	Code int // HTTP status
	Text string
	Hint string // what to do, "" if nothing
}

func (e *Error) Error() string { return e.Text }

// ErrUnreachable says that nothing answers at the socket: the supervisor is gone, or belongs to another user.
var ErrUnreachable = errors.New("no supervisor answers")

// callTimeout bounds a call that is not a stream; the supervisor answers from memory.
const callTimeout = 10 * time.Second

// NewClient prepares a client for the socket. It does not connect. A read-only client's orders are refused before they are sent, and it
// does not count as somebody who holds the run.
func NewClient(socket string, readOnly bool) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	return &Client{http: &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConns: 2, IdleConnTimeout: time.Minute}}, readOnly: readOnly}
}

// Close gives idle connections back.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status asks how the run stands.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	if err := c.call(ctx, http.MethodGet, "/v1/status", nil, &s); err != nil {
		return Status{}, err
	}
	if s.API != API {
		return Status{}, fmt.Errorf("the supervisor speaks version %d of the control protocol, this program version %d: use the opprof that launched the run", s.API, API)
	}
	return s, nil
}

// Arm orders windows.
func (c *Client) Arm(ctx context.Context, t Trigger, count int) ([]Window, error) {
	if err := t.Check(count); err != nil {
		return nil, err
	}
	var r ArmReply
	return r.Windows, c.order(ctx, http.MethodPost, "/v1/windows", ArmRequest{t, count}, &r)
}

// Cancel takes an armed window back.
func (c *Client) Cancel(ctx context.Context, n int) error {
	return c.order(ctx, http.MethodDelete, "/v1/windows/"+strconv.Itoa(n), nil, nil)
}

// Stop orders the server to stop. It returns once the order is taken; Events tells when it is done.
func (c *Client) Stop(ctx context.Context) error {
	return c.order(ctx, http.MethodPost, "/v1/stop", nil, nil)
}

// Leave ends a watch over somebody else's server. It returns once the order is taken.
func (c *Client) Leave(ctx context.Context) error {
	return c.order(ctx, http.MethodPost, "/v1/leave", nil, nil)
}

// Events calls each for the journal's lines after a sequence number, the past first, then as they are written, until ctx ends, the
// supervisor goes, or each returns an error. The line belongs to each only during the call.
func (c *Client) Events(ctx context.Context, after int64, each func(line []byte) error) error {
	path := "/v1/events?after=" + strconv.FormatInt(after, 10)
	if c.readOnly {
		path += "&readonly=1"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://opprof"+path, nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return unreachable(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return answerError(resp)
	}
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if len(in.Bytes()) == 0 {
			continue // a sign of life
		}
		if err := each(in.Bytes()); err != nil {
			return err
		}
	}
	return unreachable(ctx, in.Err())
}

func (c *Client) order(ctx context.Context, method, path string, body, reply any) error {
	if c.readOnly {
		return &Error{Code: http.StatusForbidden, Text: "this client is read-only", Hint: "attach without --readonly"}
	}
	return c.call(ctx, method, path, body, reply)
}

func (c *Client) call(ctx context.Context, method, path string, body, reply any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://opprof"+path, in)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return unreachable(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return answerError(resp)
	}
	if reply == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 16<<20)).Decode(reply); err != nil {
		return fmt.Errorf("cannot read the supervisor's answer to %s %s: %w", method, path, err)
	}
	return nil
}

func answerError(resp *http.Response) error {
	var e ErrorReply
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&e); err != nil || e.Error == "" {
		e.Error = "the supervisor answered " + resp.Status
	}
	return &Error{Code: resp.StatusCode, Text: e.Error, Hint: e.Hint}
}

func unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		return ErrUnreachable
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}
