package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"opprof/engine/control"
	"opprof/engine/journal"
)

// clients are the open event streams: who reads on holds the run.
type clients struct {
	server  *http.Server
	holders int  // streams of clients that may give orders
	held    bool // there was one
	emptyNS int64
	closing bool // the journal has its last line
}

// heartbeat keeps an idle stream's ends sure of each other.
const heartbeat = 15 * time.Second

func (c *clients) holding() int { return c.holders }

// hungUp reports whether there were holders and the last has been gone for a while.
func (c *clients) hungUp(nowNS int64, after time.Duration) bool {
	return c.held && c.holders == 0 && nowNS-c.emptyNS > int64(after)
}

func (c *clients) come() { c.holders++; c.held = true }

func (c *clients) goAway(nowNS int64) {
	c.holders--
	c.emptyNS = nowNS
}

func (s *Supervisor) newAPI() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", s.getStatus)
	mux.HandleFunc("GET /v1/events", s.getEvents)
	mux.HandleFunc("POST /v1/windows", s.postWindows)
	mux.HandleFunc("DELETE /v1/windows/{n}", s.deleteWindow)
	mux.HandleFunc("POST /v1/stop", s.postStop)
	mux.HandleFunc("POST /v1/leave", s.postLeave)
	return &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
}

// serve answers until the loop has ended.
func (s *Supervisor) serve(l net.Listener) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-s.quit
		_ = s.clients.server.Close()
	}()
	_ = s.clients.server.Serve(l) // ends by Shutdown or Close alone
	<-ended
}

// shutdownAPI lets open streams read to the end.
func (s *Supervisor) shutdownAPI(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timing.Linger)
	defer cancel()
	_ = s.clients.server.Shutdown(ctx) // what is still open then is closed hard
}

// ask runs f on the loop and waits for it. It reports false, and f does not run, when there is no loop or client any more.
func (s *Supervisor) ask(ctx context.Context, f func()) bool {
	done := make(chan struct{})
	select {
	case s.inbox <- func() { f(); close(done) }:
		<-done // the loop runs what it has taken
		return true
	case <-ctx.Done():
	case <-s.quit:
	}
	return false
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // a client that has gone needs no answer
}

func refuse(w http.ResponseWriter, code int, hint, format string, args ...any) {
	answer(w, code, control.ErrorReply{Error: fmt.Sprintf(format, args...), Hint: hint})
}

func (s *Supervisor) getStatus(w http.ResponseWriter, r *http.Request) {
	var status control.Status
	if !s.ask(r.Context(), func() { status = s.status() }) {
		return
	}
	if free, err := freeBytes(s.kineto()); err == nil {
		status.Cost.FreeBytes = &free
	}
	answer(w, http.StatusOK, status)
}

// getEvents streams the journal: what is behind a sequence number, then what comes.
func (s *Supervisor) getEvents(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseInt(r.FormValue("after"), 10, 64)
	if err != nil && r.FormValue("after") != "" {
		refuse(w, http.StatusBadRequest, "after=0 gives all", "after is %q: expected a sequence number", r.FormValue("after"))
		return
	}
	readOnly := r.FormValue("readonly") != ""
	wake := make(chan struct{}, 1)
	if !s.ask(r.Context(), func() { s.openStream(wake, readOnly) }) {
		return
	}
	defer s.post(func() { s.closeStream(wake, readOnly) })
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := http.NewResponseController(w)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		var lines []journal.Entry
		var last bool
		ok := s.ask(r.Context(), func() {
			lines, after, last = s.ledger.after(after), s.ledger.lastSeq, s.clients.closing
		})
		if !ok || !send(w, out, lines) || last {
			return
		}
		select {
		case <-wake:
		case <-beat.C:
			if _, err := w.Write([]byte("\n")); err != nil || out.Flush() != nil {
				return
			}
		case <-r.Context().Done():
			return
		case <-s.quit:
			return
		}
	}
}

func send(w http.ResponseWriter, out *http.ResponseController, lines []journal.Entry) bool {
	for _, line := range lines {
		if _, err := w.Write(append(line.Raw[:len(line.Raw):len(line.Raw)], '\n')); err != nil {
			return false
		}
	}
	return out.Flush() == nil
}

func (s *Supervisor) openStream(wake chan struct{}, readOnly bool) {
	s.ledger.readers[wake] = true
	if !readOnly {
		s.clients.come()
	}
}

func (s *Supervisor) closeStream(wake chan struct{}, readOnly bool) {
	delete(s.ledger.readers, wake)
	if !readOnly {
		s.clients.goAway(s.clock.now())
	}
}

// postWindows arms windows and answers once they are in the journal.
func (s *Supervisor) postWindows(w http.ResponseWriter, r *http.Request) {
	var order control.ArmRequest
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	body.DisallowUnknownFields()
	if err := body.Decode(&order); err != nil {
		refuse(w, http.StatusBadRequest, "", "cannot read the order: %v", err)
		return
	}
	var need int64
	var refusal string
	if !s.ask(r.Context(), func() { need, refusal = s.windows.expected(s.engines.ranks), s.noWindows() }) {
		return
	}
	if refusal != "" {
		refuse(w, http.StatusConflict, "", "%s", refusal)
		return
	}
	if err := s.enoughDisk(s.kineto(), need); err != nil {
		refuse(w, http.StatusInsufficientStorage, "make room, or start the server with its run folder on another disk", "%v", err)
		return
	}
	var armed []control.Window
	var armErr error
	written := make(chan error, 1)
	ok := s.ask(r.Context(), func() {
		armed, armErr = s.arm(order, written)
	})
	switch {
	case !ok:
	case armErr != nil:
		refuse(w, http.StatusBadRequest, "", "%v", armErr)
	case !s.acknowledged(w, r, written):
	default:
		answer(w, http.StatusOK, control.ArmReply{Windows: armed})
	}
}

// noWindows is why no window can be armed, "" when one can.
func (s *Supervisor) noWindows() string {
	switch {
	case s.server.lost != "":
		return s.server.lost
	case !s.mounted && s.server.watched:
		return fmt.Sprintf("%s has no profile endpoints: whoever starts it must give it --profiler-config", s.config.Address)
	case !s.mounted:
		return "the server was started without a profiler: set profiler.enabled in its configuration and start it again"
	case s.server.stopping != "" || s.server.dead != "":
		return "the server is " + s.view.state
	}
	return ""
}

func (s *Supervisor) arm(order control.ArmRequest, written chan error) ([]control.Window, error) {
	if refusal := s.noWindows(); refusal != "" { // a stop may have come while the disk was looked at
		return nil, errors.New(refusal)
	}
	armed, actions, err := s.windows.controller.Arm(s.clock.now(), order.Trigger, order.Count)
	if err != nil {
		return nil, err
	}
	s.carryOut(actions)
	s.ledger.onWritten(written)
	return armed, nil
}

// acknowledged waits until an order is in the journal.
func (s *Supervisor) acknowledged(w http.ResponseWriter, r *http.Request, written chan error) bool {
	select {
	case err := <-written:
		if err != nil {
			refuse(w, http.StatusInternalServerError, "the order was taken, but a crash would forget it", "%v", err)
			return false
		}
		return true
	case <-r.Context().Done():
	case <-s.quit:
	}
	return false
}

func (s *Supervisor) deleteWindow(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil {
		refuse(w, http.StatusBadRequest, "", "window %q: expected its number", r.PathValue("n"))
		return
	}
	written := make(chan error, 1)
	ok := s.ask(r.Context(), func() {
		actions, cancelErr := s.windows.controller.Cancel(s.clock.now(), n)
		if err = cancelErr; err == nil {
			s.carryOut(actions)
			s.ledger.onWritten(written)
		}
	})
	switch {
	case !ok:
	case err != nil:
		refuse(w, http.StatusConflict, "", "%v", err)
	case s.acknowledged(w, r, written):
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Supervisor) postStop(w http.ResponseWriter, r *http.Request) {
	if s.config.Watched != nil {
		refuse(w, http.StatusConflict, "whoever started it stops it", "opprof did not start this server and does not stop it")
		return
	}
	written := make(chan error, 1)
	ok := s.ask(r.Context(), func() {
		s.stop("ordered by a client")
		s.ledger.onWritten(written)
	})
	if ok && s.acknowledged(w, r, written) {
		w.WriteHeader(http.StatusAccepted)
	}
}
