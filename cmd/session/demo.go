package session

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"opprof/engine/rundir"
	"opprof/testdata"
)

// DemoOptions say what is replayed and how fast.
type DemoOptions struct {
	Recording string           // one of testdata.Recordings; "" is the first H200 run
	Speed     float64          // 1 is the recorded pace; 10 a server ten times as fast
	Now       func() time.Time // wall clock
}

const (
	defaultRecording = "h200-tp1"
	// History written before the first picture: a minute of screen time, but not more than a few thousand steps' worth of it.
	demoHistoryNS      = 60_000_000_000
	demoHistoryMaxByte = 24 << 20
	// A demo that is left running ends here, as a server that was shut down, before it fills the disk.
	demoMaxByte = 256 << 20
	// Lines due within one beat are written together.
	demoBeat = 20 * time.Millisecond
	// The monotonic clock of the replayed machine when the demo starts.
	demoUptimeNS = int64(24 * time.Hour)
)

// demo writes a replayed stream into a temporary run folder.
type demo struct {
	folder  demoFolder // removed by close
	run     string
	now     func() time.Time
	player  *player
	file    *os.File
	out     *bufio.Writer
	buf     []byte
	log     *logPlayer
	fromNS  int64 // moment of the replay at which the first line lies
	written int64 // bytes
	lines   int64

	traces    landings
	recording bool // the profiler is on
	armed     atomic.Pointer[time.Time]
	orders    chan order
	ended     chan struct{} // closed when no order is heard any more
}

// newDemo makes the run folder and writes the history.
func newDemo(o DemoOptions) (*demo, error) {
	if o.Recording == "" {
		o.Recording = defaultRecording
	}
	stream, err := testdata.Recording(o.Recording)
	if err != nil {
		return nil, err
	}
	r, err := newReplay(stream)
	if err != nil {
		return nil, fmt.Errorf("cannot replay %s: %w", o.Recording, err)
	}
	folder, err := newDemoFolder(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("cannot make the demo's run folder: %w", err)
	}
	d := &demo{folder: folder, run: filepath.Join(folder.path, "demo-"+o.Recording), now: o.Now, orders: make(chan order), ended: make(chan struct{})}
	d.traces = newLandings(o.Recording, d.run, r, o.Speed, o.Now)
	err = d.begin(r, o.Speed)
	if err == nil {
		err = d.beginLog(o.Recording)
	}
	if err == nil {
		err = d.putExperts()
	}
	if err != nil {
		d.close()
		return nil, fmt.Errorf("cannot write the demo's records: %w", err)
	}
	return d, nil
}

func (d *demo) begin(r *replay, speed float64) error {
	startNS := demoStartNS(r)
	wallNS := d.now().UnixNano()
	c := clock{zeroWallNS: wallNS - scaleNS(startNS, speed), zeroMonoNS: demoUptimeNS - scaleNS(startNS, speed), speed: speed}
	d.player = r.playFrom(startNS-historyNS(r, speed), c)
	layer1 := filepath.Join(d.run, "layer1")
	if err := os.MkdirAll(layer1, 0o700); err != nil {
		return err
	}
	d.fromNS = d.player.round*r.loopNS + d.player.lines[d.player.next].dueNS
	header := d.player.appendHeader(nil)
	startWallNS, _ := number(header, "start_wall_ns")
	name := fmt.Sprintf("opprof-v1-%s-%d.jsonl", engineOf(header), startWallNS)
	file, err := os.OpenFile(filepath.Join(layer1, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	d.file, d.out = file, bufio.NewWriterSize(file, 1<<20)
	if err := d.put(header); err != nil {
		return err
	}
	_, err = d.writeDue(wallNS)
	return err
}

// beginLog writes the server's log up to now.
func (d *demo) beginLog(recording string) error {
	text, err := testdata.Log(recording)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(d.run, rundir.ServerLogName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	c := d.player.clock
	d.log = &logPlayer{logReplay: newLogReplay(text, d.player.replay), file: file, zone: d.now().Location(), clock: c, loop: d.player.loopNS}
	if err := d.log.begin(c.zeroWallNS+scaleNS(d.fromNS, c.speed), d.fromNS); err != nil {
		return err
	}
	return d.log.writeDue(d.now().UnixNano())
}

// demoStartNS is the moment of the recording at which the demo comes in: in the long runs the KV cache runs full there and requests are
// preempted.
func demoStartNS(r *replay) int64 { return r.loopNS * 3 / 5 }

// historyNS is how much recorded time lies before the first picture.
func historyNS(r *replay, speed float64) int64 {
	var roundBytes int64
	for _, l := range r.lines {
		roundBytes += int64(len(l.line))
	}
	return min(int64(demoHistoryNS*speed), demoHistoryMaxByte*r.loopNS/roundBytes)
}

// engineOf is the engine id that a header names.
func engineOf(header []byte) string {
	_, rest, _ := bytes.Cut(header, []byte(`"engine_id":"`))
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(id)
}

func (d *demo) put(line []byte) error {
	d.lines++
	d.written += int64(len(line))
	_, err := d.out.Write(line)
	return err
}

// writeDue writes every line due by wallNS and returns when the next one is.
func (d *demo) writeDue(wallNS int64) (nextNS int64, err error) {
	for {
		if nextNS = d.player.dueWallNS(); nextNS > wallNS || d.written >= demoMaxByte {
			return nextNS, d.out.Flush()
		}
		d.mark()
		d.buf = d.player.appendNext(d.buf[:0])
		if err := d.put(d.buf); err != nil {
			return 0, err
		}
	}
}

// mark takes note of the profiler's markers, before they are written.
func (d *demo) mark() {
	line := d.player.lines[d.player.next]
	if line.step {
		return
	}
	if _, started := startOf(line.line); started {
		d.traces.began(d.player.next, d.player.shift())
		d.recording = true
		d.armed.Store(nil)
		return
	}
	d.recording = d.recording && !bytes.Contains(line.line, []byte(`"action":"stop"`))
}

// play writes lines as they fall due until ctx ends or the demo is as large as it may become.
func (d *demo) play(ctx context.Context) error {
	defer close(d.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case o := <-d.orders:
			o.answer <- d.arm(d.now())
		case <-timer.C:
		}
		now := d.now()
		nextNS, err := d.writeDue(now.UnixNano())
		if err == nil {
			err = d.log.writeDue(now.UnixNano())
		}
		if err != nil {
			return fmt.Errorf("cannot write the demo's records: %w", err)
		}
		if d.written >= demoMaxByte {
			return d.finish(now)
		}
		timer.Reset(max(demoBeat, time.Duration(nextNS-now.UnixNano())))
	}
}

// finish closes the stream as a server does that is shut down.
func (d *demo) finish(now time.Time) error {
	footer := fmt.Sprintf(`{"type":"footer","schema":1,"engine_id":%q,"encoded":%d,"written":%d,"dropped":0,"queue_high_watermark":1,"end_wall_ns":%d,`+
		`"foreground_ns":{"n":0,"p50":null,"p95":null,"p99":null,"max":null,"mean":null}}`+"\n",
		engineOf(d.player.header), d.lines, d.lines, now.UnixNano())
	if err := d.put([]byte(footer)); err != nil {
		return err
	}
	return d.out.Flush()
}

// close removes the run folder.
func (d *demo) close() {
	if d.file != nil {
		_ = d.file.Close()
	}
	if d.log != nil {
		_ = d.log.file.Close()
	}
	d.folder.remove()
}
