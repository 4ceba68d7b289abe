package session

import (
	"context"
	"sync"
	"time"

	"opprof/engine/meter"
	"opprof/engine/rundir"
	"opprof/engine/vllm"
)

// KindServer is a Description of a server of which only its address is known.
const KindServer = "server"

// Server is a server without a run: what it says itself.
type Server struct {
	addr   vllm.Address
	client *vllm.Client
	meter  *meter.Meter
	cancel context.CancelFunc
	asking sync.WaitGroup
}

// OpenServer begins to ask a server and returns at once. key is its API key, "" for none. Close ends it.
func OpenServer(ctx context.Context, addr vllm.Address, key string, now func() time.Time) *Server {
	client := vllm.NewClient(addr)
	client.Authorize(key)
	s := &Server{addr: addr, client: client, meter: meter.New(addr, client, meter.Options{Now: now})}
	ctx, s.cancel = context.WithCancel(ctx)
	s.asking.Go(func() { s.meter.Run(ctx) })
	return s
}

// Run describes the server.
func (s *Server) Run() rundir.Description {
	return rundir.Description{ID: s.addr.String(), Path: s.addr.String(), Kind: KindServer}
}

// Reading is what the server says now.
func (s *Server) Reading(context.Context) (*meter.Reading, error) { return s.meter.Reading(), nil }

// Wait returns when the server was asked so often.
func (s *Server) Wait(ctx context.Context, rounds int) error { return s.meter.Wait(ctx, rounds) }

// Close ends the questions and waits until their goroutine has ended.
func (s *Server) Close() error {
	s.cancel()
	s.asking.Wait()
	s.client.Close()
	return nil
}
