package tui

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

const sec = int64(time.Second)

// minute is a picture of the last minute of a run of an hour, in buckets of a second.
func minute() view {
	const start = 1_000_000 * sec
	return view{fromNS: start + 3540*sec, toNS: start + 3600*sec, bucketNS: sec, firstNS: start, lastNS: start + 3600*sec - 1}
}

func TestTimelineMoves(t *testing.T) {
	v := minute()
	tests := []struct {
		name         string
		start        timeline
		do           func(t *timeline)
		edge, cursor int64 // relative to the first step; -1 is the newest
	}{
		{"back one column stands the picture still", timeline{spanNS: 60 * sec}, func(t *timeline) { t.move(-1, v) }, 3600 * sec, 3599*sec - 1},
		{"back beyond the left border shifts by what is needed", timeline{spanNS: 60 * sec}, func(t *timeline) { t.move(-61, v) }, 3539*sec - 1 + 59*sec, 3539*sec - 1},
		{"far back centres the cursor", timeline{spanNS: 60 * sec}, func(t *timeline) { t.put(v.firstNS+1000*sec, v) }, 1030 * sec, 1000 * sec},
		{"before the run is its first step", timeline{spanNS: 60 * sec}, func(t *timeline) { t.put(1, v) }, 60 * sec, 0},
		{"after the run is its last step", timeline{spanNS: 60 * sec}, func(t *timeline) { t.put(v.lastNS+99*sec, v) }, 3600 * sec, 3600*sec - 1},
		{"half a picture back moves both", timeline{spanNS: 60 * sec}, func(t *timeline) { t.pan(-0.5, v) }, 3570 * sec, 3570*sec - 1},
		{"home", timeline{spanNS: 60 * sec}, func(t *timeline) { t.home(v) }, 60 * sec, 0},
		{"follow", timeline{spanNS: 60 * sec, edgeNS: 5, cursorNS: 5}, func(t *timeline) { t.follow() }, -1, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			line := tt.start
			tt.do(&line)
			rel := func(ns int64) int64 {
				if ns == 0 {
					return -1
				}
				return ns - v.firstNS
			}
			if rel(line.edgeNS) != tt.edge || rel(line.cursorNS) != tt.cursor {
				t.Errorf("edge %d cursor %d, want %d %d", rel(line.edgeNS), rel(line.cursorNS), tt.edge, tt.cursor)
			}
		})
	}
}

func TestTimelineZoom(t *testing.T) {
	v := minute()
	line := timeline{spanNS: 60 * sec}
	var seen []time.Duration
	for range 8 {
		line.zoomOut(v)
		seen = append(seen, time.Duration(line.spanNS))
	}
	want := []time.Duration{2 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, 0, 0, 0, 0}
	for i := range want {
		if seen[i] != want[i] {
			t.Fatalf("zooming out: %v, want %v", seen, want)
		}
	}
	line.zoomIn(v)
	if line.spanNS != int64(30*time.Minute) {
		t.Errorf("zooming in from the whole run: %v", time.Duration(line.spanNS))
	}
	for range 20 {
		line.zoomIn(v)
	}
	if line.spanNS != int64(spans[0]) {
		t.Errorf("the narrowest span is %v, want %v", time.Duration(line.spanNS), spans[0])
	}
}

// TestTimelineFirstZoom: every zoom shows at most two thirds of the time before, also the first one from the whole run.
func TestTimelineFirstZoom(t *testing.T) {
	for _, run := range []int64{3 * sec, 61 * sec, 146 * sec, 301 * sec, 3601 * sec} {
		line, v := timeline{}, view{firstNS: sec, lastNS: sec + run}
		for now := run; line.spanNS != int64(spans[0]); now = line.spanNS {
			line.zoomIn(v)
			if 3*line.spanNS > 2*now || line.spanNS == 0 {
				t.Fatalf("from %v to %v", time.Duration(now), time.Duration(line.spanNS))
			}
		}
	}
}

// TestTimelineZoomKeepsCursor: the cursor keeps its place in the picture, so that zooming does not lose what is looked at.
func TestTimelineZoomKeepsCursor(t *testing.T) {
	v := minute()
	line := timeline{spanNS: 60 * sec, edgeNS: v.toNS, cursorNS: v.toNS - 15*sec}
	line.zoomIn(v)
	left := line.edgeNS - line.spanNS
	if share := float64(line.edgeNS-line.cursorNS) / float64(line.spanNS); share < 0.24 || share > 0.26 {
		t.Errorf("cursor is %.2f of the picture from its right edge, want 0.25", share)
	}
	if line.cursorNS < left || line.cursorNS > line.edgeNS {
		t.Error("the cursor left the picture")
	}
}

// TestTimelineProperties: wherever keys lead, the cursor is a moment of the run and inside the picture that will be asked for.
func TestTimelineProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int64Range(1, 1<<60).Draw(t, "first")
		length := rapid.Int64Range(0, 100*3600*sec).Draw(t, "length")
		line := timeline{spanNS: int64(rapid.SampledFrom(spans[:]).Draw(t, "span"))}
		v := view{firstNS: first, lastNS: first + length}
		shoot := func() { // what a source answers to the timeline
			v.bucketNS = max(1, line.spanNS/100)
			edge := line.edge()
			if edge == 0 {
				edge = v.lastNS
			}
			v.toNS = (edge/v.bucketNS + 1) * v.bucketNS
			v.fromNS = v.toNS - 100*v.bucketNS
			if line.spanNS == 0 {
				v.bucketNS = max(1, length/100)
				v.fromNS, v.toNS = first, v.lastNS+1
			}
		}
		for range rapid.IntRange(1, 20).Draw(t, "keys") {
			shoot()
			switch rapid.IntRange(0, 7).Draw(t, "key") {
			case 0:
				line.zoomIn(v)
			case 1:
				line.zoomOut(v)
			case 2:
				line.move(rapid.Int64Range(-150, 150).Draw(t, "buckets"), v)
			case 3:
				line.pan(rapid.SampledFrom([]float64{-0.5, 0.5}).Draw(t, "pages"), v)
			case 4:
				line.put(first+rapid.Int64Range(-length-5, 2*length+5).Draw(t, "at"), v)
			case 5:
				line.home(v)
			case 6:
				line.follow()
			}
			if c := line.cursorNS; c != 0 && (c < v.firstNS || c > v.lastNS) {
				t.Fatalf("cursor %d outside of the run %d to %d", c, v.firstNS, v.lastNS)
			}
			shoot()
			if c := line.cursorNS; c != 0 && line.spanNS != 0 && (c > v.toNS || c < v.fromNS-v.bucketNS) {
				t.Fatalf("cursor %d outside of the picture %d to %d", c, v.fromNS, v.toNS)
			}
		}
	})
}
