package tail

import (
	"time"

	"opprof/engine/record"
)

// Status is the state of one stream. Bytes are those of the file on disk, compressed if it is.
type Status struct {
	Path      string // the file being read
	Size      int64  // bytes, as last seen; over NFS it may lag behind Offset
	Offset    int64  // bytes read, without a torn last line
	Lines     int64  // lines given to the sink
	Bad       int64  // of them not readable
	FirstBad  string // the first bad line, located; "" if none
	FirstRead int64  // its place among the lines given to the sink, from 1; 0 if none
	Torn      bool   // the file ends in the middle of a line or of a compressed block
	Gone      bool   // deleted; what the open file still gets is read for a while
	More      bool   // the last pass stopped at its limit
	Parts     int64  // files finished before this one: rotated parts
	Restarts  int64
	BytesPerS float64 // reading rate of uncompressed bytes over the last seconds
	Err       error   // why the last pass could not read on; it is tried again
	Decode    record.DecodeStats
}

// Progress is the state of all streams together.
type Progress struct {
	Streams int
	Read    int64 // bytes on disk
	Size    int64
	More    bool  // at least one stream has more to read now
	Torn    int   // streams with a torn last line
	Failed  int   // streams with an error
	Err     error // the files could not be listed
}

// Share is how much of what is on disk was read, in [0,1]: "catching up 43 %".
func (p Progress) Share() float64 {
	if p.Size <= 0 || p.Read >= p.Size || !p.More && p.Failed == 0 {
		return 1
	}
	return float64(p.Read) / float64(p.Size)
}

func (p *Progress) add(s Status) {
	p.Read += s.Offset
	p.Size += max(s.Size, s.Offset)
	p.More = p.More || s.More
	if s.Torn {
		p.Torn++
	}
	if s.Err != nil {
		p.Failed++
	}
}

// rateSpan is the least time over which a rate is taken.
const rateSpan = time.Second

// meter turns a growing count into a rate.
type meter struct {
	since time.Time
	count int64
	perS  float64
}

func (m *meter) add(now time.Time, count int64) {
	if m.since.IsZero() {
		m.since, m.count = now, count
		return
	}
	if d := now.Sub(m.since); d >= rateSpan {
		m.perS = float64(count-m.count) / d.Seconds()
		m.since, m.count = now, count
	}
}
