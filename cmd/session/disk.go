package session

import (
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"opprof/engine/tail"
	"opprof/engine/unit"
)

const (
	diskEvery  = 10 * time.Second // between two looks
	diskLooks  = 60               // the growth of ten minutes tells the rate
	diskSpan   = time.Minute      // the least over which one is taken
	diskTooFew = 24 * time.Hour   // a disk that lasts longer is nothing to speak of
)

// diskWatch says when the disk that a live run records to will be full. One goroutine looks.
type diskWatch struct {
	now   func() time.Time
	free  func(dir string) (int64, error)
	looks []diskLook // oldest first
	text  string
}

// diskLook is how large the records were at a time.
type diskLook struct {
	at    time.Time
	bytes int64
}

func newDiskWatch(now func() time.Time) *diskWatch { return &diskWatch{now: now, free: freeBytes} }

// freeBytes is what a user without privileges may still write.
func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// problem is a sentence when the disk will be full within a day at the rate of the last minutes, "" otherwise.
func (d *diskWatch) problem(streams []tail.Status) string {
	now, bytes := d.now(), int64(0)
	for i := range streams {
		bytes += streams[i].Size
	}
	n := len(d.looks)
	if len(streams) == 0 || n > 0 && now.Sub(d.looks[n-1].at) < diskEvery && !now.Before(d.looks[n-1].at) {
		return d.text
	}
	if n > 0 && (bytes < d.looks[n-1].bytes || now.Before(d.looks[n-1].at)) { // a file was cut or compacted, or the clock was set back
		d.looks = nil
	}
	d.looks = append(d.looks, diskLook{now, bytes})
	if len(d.looks) > diskLooks {
		d.looks = d.looks[1:]
	}
	d.text = d.judge(filepath.Dir(streams[len(streams)-1].Path))
	return d.text
}

func (d *diskWatch) judge(dir string) string {
	first, last := d.looks[0], d.looks[len(d.looks)-1]
	span := last.at.Sub(first.at)
	if span < diskSpan || last.bytes == first.bytes {
		return ""
	}
	perSecond := float64(last.bytes-first.bytes) / span.Seconds()
	free, err := d.free(dir)
	if err != nil || float64(free) > perSecond*diskTooFew.Seconds() {
		return ""
	}
	left := time.Duration(float64(free) / perSecond * float64(time.Second)).Round(time.Minute)
	return fmt.Sprintf("%s: the disk will be full in %s at %s/s, %s are free; the recorder then drops records", dir, left, unit.Bytes(int64(perSecond)), unit.Bytes(free))
}
