package cmd

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"

	"opprof/engine/control"
)

// TestASupervisorThatForgotAWindow: one that took the run over by a damaged journal does not know what is waited for.
func TestASupervisorThatForgotAWindow(t *testing.T) {
	t.Chdir(t.TempDir()) // a socket's path is short
	l, err := net.Listen("unix", "control")
	if err != nil {
		t.Fatal(err)
	}
	answer := control.Status{API: control.API, Windows: []control.Window{{N: 1, State: control.WindowVerified}}}
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(answer) })}
	served := make(chan error)
	go func() { served <- server.Serve(l) }()
	client := control.NewClient("control", true)
	for n, want := range map[int]string{1: "", 2: "knows 1 window and none of number 2"} {
		ended, err := awaitWindows(t.Context(), client, []control.Window{{N: n, State: control.WindowArmed}})
		if want == "" && (err != nil || ended[0].State != control.WindowVerified) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("window %d: %+v, %v", n, ended, err)
		}
	}
	client.Close()
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	<-served
}
