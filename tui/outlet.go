package tui

import (
	"errors"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

const (
	// slowWrite is how long a write may take before the terminal is behind: no new picture is drawn for it then.
	slowWrite = 200 * time.Millisecond
	// outletBytes bounds what waits for the terminal.
	outletBytes = 4 << 20
	// forceGrace is how long the last sequences may take once everything before them was thrown away.
	forceGrace = 300 * time.Millisecond
)

// outlet writes to the terminal from a goroutine of its own, so that the program goes on and hears its keys while a stalled link takes
// nothing. Its methods may be called from any goroutine.
type outlet struct {
	to      *os.File
	reopen  bool // to is an opening of the terminal of our own, whose writes have deadlines
	lost    func(error)
	running sync.WaitGroup

	mu      sync.Mutex
	changed sync.Cond
	queue   []byte
	since   time.Time // when the write that is under way began; zero when none is
	forced  bool      // what is under way is not wanted any more
	ended   bool
	failed  error
}

// newOutlet begins to write to a file, which end stops. lost is told once of the first error.
func newOutlet(to *os.File, lost func(error)) *outlet {
	o := &outlet{to: to, lost: lost}
	o.changed.L = &o.mu
	if term.IsTerminal(to.Fd()) {
		// The mode of a descriptor belongs to whoever else has it too: only an opening of our own may be one that does not block.
		if own, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(to.Fd())), os.O_WRONLY|unix.O_NOCTTY|unix.O_NONBLOCK, 0); err == nil {
			o.to, o.reopen = own, own.SetWriteDeadline(time.Time{}) == nil
			if !o.reopen {
				_ = own.Close()
				o.to = to
			}
		}
	}
	o.running.Go(o.run)
	return o
}

func (o *outlet) run() {
	o.mu.Lock()
	defer o.mu.Unlock()
	var buf []byte
	for {
		for len(o.queue) == 0 && !o.ended {
			o.changed.Wait()
		}
		if o.ended {
			return
		}
		buf, o.queue = o.queue, buf[:0]
		o.since = time.Now()
		o.mu.Unlock()
		_, err := o.to.Write(buf)
		o.mu.Lock()
		o.since = time.Time{}
		if err != nil && o.failed == nil && !o.forced {
			o.failed = err
			o.lost(err)
		}
		o.changed.Broadcast()
	}
}

// Write takes p and returns at once, unless very much waits already.
func (o *outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) > outletBytes && o.failed == nil && !o.ended {
		o.changed.Wait()
	}
	if o.failed != nil {
		return 0, o.failed
	}
	if !o.ended {
		o.queue = append(o.queue, p...)
		o.changed.Broadcast()
	}
	return len(p), nil
}

// behind reports whether the terminal does not keep up.
func (o *outlet) behind() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.since.IsZero() && time.Since(o.since) > slowWrite
}

// drain waits until the terminal has taken everything, at most for a while. It reports whether it has.
func (o *outlet) drain(limit time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	late := false
	timer := time.AfterFunc(limit, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		late = true
		o.changed.Broadcast()
	})
	defer timer.Stop()
	for !late && o.failed == nil && (len(o.queue) > 0 || !o.since.IsZero()) {
		o.changed.Wait()
	}
	return len(o.queue) == 0 && o.since.IsZero() && o.failed == nil
}

var errNoDeadline = errors.New("the terminal's writes cannot be cut short")

// force throws away what the terminal has not taken and writes a last text in its stead. It must be followed by end.
func (o *outlet) force(text string) error {
	if !o.reopen {
		return errNoDeadline
	}
	o.mu.Lock()
	o.forced, o.queue = true, nil
	o.mu.Unlock()
	_ = o.to.SetWriteDeadline(time.Now())
	o.drain(forceGrace)
	if raw, err := o.to.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCOFLUSH)
			_ = unix.IoctlSetInt(int(fd), unix.TCXONC, unix.TCOON) // ^S is over
		})
	}
	if err := o.to.SetWriteDeadline(time.Now().Add(forceGrace)); err != nil {
		return err
	}
	_, err := o.to.WriteString(text)
	return err
}

// end stops writing. A write that cannot be cut short is left to itself.
func (o *outlet) end() {
	o.mu.Lock()
	o.ended, o.queue, o.forced = true, nil, true
	busy := !o.since.IsZero()
	o.changed.Broadcast()
	o.mu.Unlock()
	if o.reopen {
		_ = o.to.SetWriteDeadline(time.Now())
		o.running.Wait()
		_ = o.to.Close()
	} else if !busy {
		o.running.Wait()
	}
}

// gone reports whether the terminal went away.
func (o *outlet) gone() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed != nil
}
