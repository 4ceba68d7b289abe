// Package journal is an append-only file of events, one JSON object a line, each on disk before it is acknowledged: the truth about a run
// or a campaign, from which everything else is derived. It is replayed after any crash: a torn last line is dropped, a bad line is
// counted and passed over.
package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"opprof/engine/regular"
)

// Head is what every event carries. Its sequence numbers are contiguous within a file, whoever wrote them; a generation is one writer's
// tenure, so that a writer that was taken over is known by its lower number.
type Head struct {
	Seq        int64  `json:"seq"`
	Generation int64  `json:"generation"`
	WallNS     int64  `json:"wall_ns"` // since 1970
	MonoNS     int64  `json:"mono_ns"` // machine's monotonic clock
	BootID     string `json:"boot_id"`
	Event      string `json:"event"`
}

// Entry is one event as it was read.
type Entry struct {
	Head
	Raw []byte // the whole line, for Decode and for passing on
}

// Decode reads the event's own fields into v.
func (e Entry) Decode(v any) error {
	if err := json.Unmarshal(e.Raw, v); err != nil {
		return fmt.Errorf("cannot read event %d (%s): %w", e.Seq, e.Event, err)
	}
	return nil
}

// Replay is a journal as it was found.
type Replay struct {
	Entries  []Entry
	Bad      int64  // whole lines that are not events
	FirstBad string // where and why
	Gaps     int64  // places where events are missing, repeated or out of order
	FirstGap string // where and why
	TornTail bool   // the last line was cut off by a crash; its event was never acknowledged
	size     int64  // bytes up to the end of the last whole line
}

// Last is the newest entry's head; the zero Head of an empty journal.
func (r *Replay) Last() Head {
	if len(r.Entries) == 0 {
		return Head{}
	}
	return r.Entries[len(r.Entries)-1].Head
}

// ErrLocked says that another process writes the journal.
var ErrLocked = errors.New("another process writes this journal")

// textMax bounds the bytes that are read of a journal; a run of months has less.
const textMax = 256 << 20

// Read replays a journal without writing to it. A missing file is an error that matches os.ErrNotExist.
func Read(path string) (*Replay, error) {
	text, err := regular.Read(path, textMax)
	if err != nil {
		return nil, fmt.Errorf("cannot read journal: %w", err)
	}
	return replay(path, text), nil
}

func replay(path string, text []byte) *Replay {
	r := &Replay{}
	for line := int64(1); len(text) > 0; line++ {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			r.TornTail = true
			break
		}
		one := text[:i]
		text = text[i+1:]
		r.size += int64(i + 1)
		var h Head
		if err := json.Unmarshal(one, &h); err != nil || h.Event == "" {
			if len(bytes.Trim(one, "\x00 \t\r")) == 0 {
				continue // space that a crash left behind
			}
			r.Bad++
			if r.FirstBad == "" {
				r.FirstBad = fmt.Sprintf("%s:%d: not an event: %.80q", path, line, one)
			}
			continue
		}
		if last := r.Last().Seq; len(r.Entries) > 0 && h.Seq != last+1 {
			if r.Gaps++; r.FirstGap == "" {
				r.FirstGap = fmt.Sprintf("%s:%d: event %d follows event %d", path, line, h.Seq, last)
			}
		}
		r.Entries = append(r.Entries, Entry{Head: h, Raw: bytes.Clone(one)})
	}
	return r
}

// Clock is where an event's times come from.
type Clock interface {
	WallNS() int64
	MonoNS() int64
}

// SystemClock is the machine's own.
type SystemClock struct{}

// WallNS is the time of day in ns since 1970.
func (SystemClock) WallNS() int64 { return time.Now().UnixNano() }

// MonoNS is CLOCK_MONOTONIC, which Python's time.monotonic_ns reads too.
func (SystemClock) MonoNS() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return t.Nano()
}

// Journal is open for appending by this process alone. Its methods must be called from one goroutine.
type Journal struct {
	f      *os.File
	clock  Clock
	boot   string
	head   Head
	offset int64
	failed error
}

// reserve is the space set aside beyond the end, so that a full disk can still be written down.
const reserve = 256 << 10

// Open opens or creates a journal for appending, takes its lifetime lock and begins a new generation. It returns what was there.
// It fails with ErrLocked while another process has it open.
func Open(path string, clock Clock) (*Journal, *Replay, error) {
	f, err := regular.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open journal: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, nil, fmt.Errorf("%s: %w", path, ErrLocked)
		}
		return nil, nil, fmt.Errorf("cannot lock journal %s: %w", path, err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		_ = f.Close()
		return nil, nil, fmt.Errorf("cannot read journal %s: %w", path, regular.Cause(err, path))
	}
	r := replay(path, text)
	j := &Journal{f: f, clock: clock, boot: BootID(), offset: r.size}
	j.head.Seq = r.Last().Seq
	for _, e := range r.Entries {
		j.head.Generation = max(j.head.Generation, e.Generation)
	}
	j.head.Generation++
	if err := f.Truncate(r.size); err != nil {
		_ = f.Close()
		return nil, nil, fmt.Errorf("cannot cut the torn end of journal %s: %w", path, err)
	}
	j.setAside()
	return j, r, nil
}

// setAside asks for space past the end. File systems that cannot are used as they are.
func (j *Journal) setAside() {
	_ = unix.Fallocate(int(j.f.Fd()), unix.FALLOC_FL_KEEP_SIZE, j.offset, reserve)
}

// Append writes an event with the fields of payload, a struct or map or nil, and returns once it is on disk. After a failure the journal
// stays failed: what follows a lost event would not be true.
func (j *Journal) Append(event string, payload any) (Entry, error) {
	if j.failed != nil {
		return Entry{}, j.failed
	}
	h := Head{Seq: j.head.Seq + 1, Generation: j.head.Generation, WallNS: j.clock.WallNS(), MonoNS: j.clock.MonoNS(), BootID: j.boot, Event: event}
	line, err := encode(h, payload)
	if err != nil {
		return Entry{}, err
	}
	if _, err = j.f.WriteAt(append(line, '\n'), j.offset); err == nil {
		err = j.f.Sync()
	}
	if err != nil {
		j.failed = fmt.Errorf("cannot write event %d (%s) to journal %s: %w", h.Seq, event, j.f.Name(), err)
		return Entry{}, j.failed
	}
	j.head.Seq = h.Seq
	j.offset += int64(len(line) + 1)
	if j.offset%reserve < int64(len(line)+1) {
		j.setAside()
	}
	return Entry{Head: h, Raw: line}, nil
}

// encode splices the payload's members behind the head's.
func encode(h Head, payload any) ([]byte, error) {
	line, err := json.Marshal(h)
	if err != nil || payload == nil {
		return line, err
	}
	body, err := json.Marshal(payload)
	if err != nil {
		return nil, fmt.Errorf("cannot encode event %s: %w", h.Event, err)
	}
	if len(body) < 2 || body[0] != '{' {
		return nil, fmt.Errorf("cannot encode event %s: its payload is not an object", h.Event)
	}
	if len(body) == 2 {
		return line, nil
	}
	return append(append(line[:len(line)-1], ','), body[1:]...), nil
}

// Close gives the lock and the space set aside back.
func (j *Journal) Close() error {
	_ = j.f.Truncate(j.offset)
	if err := j.f.Close(); err != nil {
		return fmt.Errorf("cannot close journal: %w", err)
	}
	return nil
}

// BootID names this boot of the machine; "" where the system does not say. A process id and start time mean something within one boot.
func BootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(text))
}
