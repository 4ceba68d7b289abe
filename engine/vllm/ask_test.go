package vllm

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestWhatAServerSaysOfItself(t *testing.T) {
	answer := map[string]string{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(answer["version"])) })
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		w.Write([]byte(`{"data":[{"id":"tiny","max_model_len":2048},{"id":"lora"}]}`))
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("vllm:x 1\nbroken{\n")) })
	c := serve(t, mux)
	for text, want := range map[string]string{`{"version":"0.24.0"}`: "0.24.0", `{}`: "", `<html>`: "", `{"version":1}`: ""} {
		answer["version"] = text
		if got, err := c.Version(t.Context()); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	if _, err := c.Models(t.Context()); !errors.Is(err, ErrUnauthorized) || strings.Contains(err.Error(), "secret") {
		t.Errorf("without a key: %v", err)
	}
	c.Authorize("secret")
	models, err := c.Models(t.Context())
	if err != nil || len(models) != 2 || *models[0].MaxModelLen != 2048 || models[1].MaxModelLen != nil {
		t.Errorf("with the key: %+v, %v", models, err)
	}
	if m, err := c.Metrics(t.Context()); err != nil || len(m.Samples) != 1 || m.BadLines != 1 {
		t.Errorf("metrics: %+v, %v", m, err)
	}
}
