// Package browsertest opens a report in a headless Chromium, as a reader would, for tests. It speaks the DevTools protocol over two pipes.
package browsertest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Variable names the browser that tests use; without it one is looked for on the path.
const Variable = "OPPROF_CHROMIUM"

// patience is how long the browser may take for one answer before it is taken for dead.
const patience = 60 * time.Second

// Browser is a running Chromium with one page.
type Browser struct {
	in      *os.File
	session string
	mu      sync.Mutex // guards what follows
	id      int
	waiting map[int]chan message
	events  []Event
	failed  error
}

// Event is what the browser told by itself.
type Event struct {
	Method string
	Params json.RawMessage
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// find is a Chromium of this machine; "" when there is none.
func find() string {
	if path := os.Getenv(Variable); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome", "chrome-headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Start runs a browser until the test ends. Without one the test is skipped.
func Start(t testing.TB) *Browser {
	t.Helper()
	path := find()
	if path == "" {
		t.Skipf("no Chromium on the path and %s is not set: .ci/full installs one", Variable)
	}
	theirs, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	c.ExtraFiles = []*os.File{theirs, theirOut} // 3 and 4 of the browser
	if err := c.Start(); err != nil {
		t.Fatalf("cannot start %s: %v", path, err)
	}
	_, _ = theirs.Close(), theirOut.Close()
	b := &Browser{in: in, waiting: map[int]chan message{}}
	var reading sync.WaitGroup
	reading.Go(func() { b.read(out) })
	t.Cleanup(func() {
		_, _ = b.call("", "Browser.close", nil)
		_ = in.Close()
		killer := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
		_ = c.Wait() // it was told to end; how it does is of no interest
		killer.Stop()
		reading.Wait()
		_ = out.Close()
	})
	b.attach(t)
	return b
}

// attach opens the one page.
func (b *Browser) attach(t testing.TB) {
	t.Helper()
	var target struct {
		ID string `json:"targetId"`
	}
	b.ask(t, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		ID string `json:"sessionId"`
	}
	b.ask(t, "", "Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &attached)
	b.session = attached.ID
	b.Ask(t, "Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil)
	for _, domain := range []string{"Page", "Network", "Log", "Runtime"} {
		b.Ask(t, domain+".enable", nil, nil)
	}
}

// read takes messages, which end with a zero byte, until the browser ends.
func (b *Browser) read(out *os.File) {
	r := bufio.NewReader(out)
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			b.end(fmt.Errorf("the browser ended: %w", err))
			return
		}
		var m message
		if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
			b.end(fmt.Errorf("the browser's words make no sense: %w", err))
			return
		}
		b.mu.Lock()
		if answer := b.waiting[m.ID]; m.ID != 0 && answer != nil {
			answer <- m // has room for it
			delete(b.waiting, m.ID)
		} else {
			b.events = append(b.events, Event{m.Method, m.Params})
		}
		b.mu.Unlock()
	}
}

func (b *Browser) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = err
	for _, answer := range b.waiting {
		close(answer)
	}
	b.waiting = map[int]chan message{}
}

func (b *Browser) call(session, method string, params any) (json.RawMessage, error) {
	answer := make(chan message, 1)
	b.mu.Lock()
	if b.failed != nil {
		defer b.mu.Unlock()
		return nil, b.failed
	}
	b.id++
	order := map[string]any{"id": b.id, "method": method}
	if params != nil {
		order["params"] = params
	}
	if session != "" {
		order["sessionId"] = session
	}
	text, err := json.Marshal(order)
	if err == nil {
		b.waiting[b.id] = answer
		_, err = b.in.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return nil, errors.New("the browser ended")
		case m.Error != nil:
			return nil, errors.New(m.Error.Message)
		}
		return m.Result, nil
	case <-time.After(patience):
		return nil, fmt.Errorf("no answer within %s", patience)
	}
}

func (b *Browser) ask(t testing.TB, session, method string, params, result any) {
	t.Helper()
	text, err := b.call(session, method, params)
	if err == nil && result != nil {
		err = json.Unmarshal(text, result)
	}
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

// Ask gives an order of the protocol to the page and reads the answer into result, which may be nil.
func (b *Browser) Ask(t testing.TB, method string, params, result any) {
	t.Helper()
	b.ask(t, b.session, method, params, result)
}

// Eval is the value of an expression in the page.
func (b *Browser) Eval(t testing.TB, expression string, value any) {
	t.Helper()
	var out struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text string `json:"text"`
		} `json:"exceptionDetails"`
	}
	b.Ask(t, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &out)
	if out.Exception != nil {
		t.Fatalf("%s: %s", expression, out.Exception.Text)
	}
	if err := json.Unmarshal(out.Result.Value, value); err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
}

// Open shows a page that is written to a file first, and waits until it is whole.
func (b *Browser) Open(t testing.TB, html []byte) (url string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, html, 0o600); err != nil {
		t.Fatal(err)
	}
	url = "file://" + path
	b.mu.Lock()
	b.events = nil
	b.mu.Unlock()
	b.Ask(t, "Page.navigate", map[string]any{"url": url}, nil)
	var whole bool
	b.Eval(t, `new Promise(done => document.readyState === "complete" ? done(true) : addEventListener("load", () => done(true)))`, &whole)
	return url
}

// Events are those of a method since the page was opened.
func (b *Browser) Events(method string) []Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.events), func(e Event) bool { return !strings.HasPrefix(e.Method, method) })
}

// Show sets the width of the page in CSS pixels, and light or dark.
func (b *Browser) Show(t testing.TB, width int, scheme string) {
	t.Helper()
	b.Ask(t, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.Ask(t, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}
