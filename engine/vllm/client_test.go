package vllm

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		text  string
		want  Address
		local bool
	}{
		{"http://127.0.0.1:8000", Address{Host: "127.0.0.1", Port: 8000}, true},
		{"http://[::1]:1", Address{Host: "::1", Port: 1}, true},
		{"http://0.0.0.0:8000", Address{Host: "0.0.0.0", Port: 8000}, false},
		{"http://gpu7:8000", Address{Host: "gpu7", Port: 8000}, false},
		{"unix:/run/v.sock", Address{Socket: "/run/v.sock"}, true},
	} {
		got, err := ParseAddress(c.text)
		if err != nil || got != c.want || got.String() != c.text || got.Local() != c.local {
			t.Errorf("%s: %+v, %v, %s, local %t", c.text, got, err, got, got.Local())
		}
	}
	for _, bad := range []string{"", "127.0.0.1:8000", "http://h", "http://h:x", "http://h:70000", "unix:", "https://h:1"} {
		if a, err := ParseAddress(bad); err == nil {
			t.Errorf("%q gave %+v", bad, a)
		}
	}
}

// serve runs a handler on a Unix socket and returns a client of it.
func serve(t *testing.T, h http.Handler) *Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	s.Start()
	c := NewClient(Address{Socket: socket})
	t.Cleanup(func() { c.Close(); s.Close() })
	return c
}

func TestWhatAServerAnswers(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /start_profile", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /stop_profile", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "profiler\nfailed\x1b[2K", 500) })
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	c := serve(t, mux)
	if err := c.StartProfile(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.StopProfile(t.Context()); err == nil || !strings.Contains(err.Error(), "500 Internal Server Error: profiler failed") {
		t.Error(err)
	}
	if err := c.Health(t.Context()); !errors.Is(err, ErrEngineDead) {
		t.Error(err)
	}
	if ok, err := c.Profiles(t.Context()); !ok || err != nil {
		t.Errorf("mounted %t, %v", ok, err)
	}
	if ok, err := serve(t, http.NotFoundHandler()).Profiles(t.Context()); ok || err != nil {
		t.Errorf("not mounted %t, %v", ok, err)
	}
}

func TestADeadlineEndsACall(t *testing.T) {
	c := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.StopProfile(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "/stop_profile") {
		t.Error(err)
	}
	if err := NewClient(Address{Socket: filepath.Join(t.TempDir(), "none")}).Health(t.Context()); err == nil {
		t.Error("nobody answered, and there was no error")
	}
}
