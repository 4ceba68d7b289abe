package cmd

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// pythonVariable names an interpreter that has vLLM 0.24.0 installed, for the scripts that start a real server.
const pythonVariable = "OPPROF_VLLM_PYTHON"

// load asks a server, at host:port or at the path of its socket, for completions, three at a time, until it is interrupted or the server
// goes. It returns an exit code.
func load(address string) int {
	network := "tcp"
	if strings.ContainsRune(address, filepath.Separator) {
		network = "unix"
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}}
	var work sync.WaitGroup
	for i := range 3 {
		work.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if err := complete(ctx, client, 16+8*i+n%5); err != nil && ctx.Err() == nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
			}
		})
	}
	work.Wait()
	return 0
}

func complete(ctx context.Context, client *http.Client, tokens int) error {
	body := fmt.Sprintf(`{"model":"tiny","prompt":"one token a character","max_tokens":%d,"temperature":0,"ignore_eos":true}`, tokens)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://server/v1/completions", strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("completion: %s", response.Status)
	}
	return nil
}
