package tui

import "time"

// timeline says which part of the run a page shows and which moment it speaks about. It is pure: moves are arithmetic on nanoseconds.
type timeline struct {
	spanNS   int64 // width of the picture; 0 is the whole run
	edgeNS   int64 // right edge of the picture, ns since 1970; 0 follows the newest step
	cursorNS int64 // the moment whose composition is shown; 0 is the newest step
}

// view is what the last picture covered, and what there is.
type view struct {
	fromNS, toNS, bucketNS int64
	firstNS, lastNS        int64 // first and last step of the run; 0 before one
}

// spans are the widths that zooming walks through, the whole run beyond them.
var spans = [...]time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// following reports whether the picture moves on with the run.
func (t *timeline) following() bool { return t.edgeNS == 0 && t.cursorNS == 0 }

// edge is the right edge to ask for. The whole run ends with its newest step.
func (t *timeline) edge() int64 {
	if t.spanNS == 0 {
		return 0
	}
	return t.edgeNS
}

// follow returns to the newest step.
func (t *timeline) follow() { t.edgeNS, t.cursorNS = 0, 0 }

// zoomIn halves the picture or so; the cursor keeps its place in it.
func (t *timeline) zoomIn(v view) {
	now := t.spanNS
	if now == 0 {
		now = v.lastNS - v.firstNS
	}
	for i := len(spans) - 1; i >= 0; i-- {
		s := int64(spans[i])
		if s <= now*2/3 { // less would hardly be seen
			t.resize(s, v)
			return
		}
	}
}

// zoomOut is the way back, up to the whole run.
func (t *timeline) zoomOut(v view) {
	if t.spanNS == 0 {
		return
	}
	for _, s := range spans {
		if int64(s) > t.spanNS && int64(s) < v.lastNS-v.firstNS {
			t.resize(int64(s), v)
			return
		}
	}
	t.spanNS, t.edgeNS = 0, 0
}

func (t *timeline) resize(spanNS int64, v view) {
	old := v.toNS - v.fromNS
	t.spanNS = spanNS
	if t.cursorNS == 0 || old <= 0 {
		return
	}
	share := min(float64(v.toNS-t.cursorNS)/float64(old), 0.98) // off the left border, which lies on a whole bucket
	t.edgeNS = min(t.cursorNS+int64(share*float64(spanNS)), max(v.lastNS, t.cursorNS))
}

// move shifts the cursor by whole buckets; the picture follows where the cursor leaves it.
func (t *timeline) move(buckets int64, v view) {
	at := t.cursorNS
	if at == 0 {
		at = v.lastNS
	}
	t.put(at+buckets*v.bucketNS, v)
}

// put moves the cursor to a moment. Inside the picture the picture stands still; just beyond a border it shifts by as much as it needs,
// further away the moment comes to its middle.
func (t *timeline) put(atNS int64, v view) {
	if v.lastNS == 0 {
		return
	}
	atNS = min(max(atNS, v.firstNS), v.lastNS)
	if t.edgeNS == 0 {
		t.edgeNS = v.toNS
	}
	t.cursorNS = atNS
	span := v.toNS - v.fromNS
	switch {
	case span <= 0 || (atNS > v.fromNS && atNS <= v.toNS):
		return
	case atNS > v.toNS && atNS-v.toNS <= span/2:
		t.edgeNS = atNS
	case atNS <= v.fromNS && v.fromNS-atNS <= span/2:
		t.edgeNS = atNS + span - v.bucketNS
	default:
		t.edgeNS = atNS + span/2
	}
	t.edgeNS = max(min(t.edgeNS, v.lastNS), v.firstNS+span) // no empty picture before or behind the run
}

// pan shifts picture and cursor together by a part of the picture, in whole buckets.
func (t *timeline) pan(pages float64, v view) {
	if v.bucketNS <= 0 || v.lastNS == 0 {
		return
	}
	columns := (v.toNS - v.fromNS) / v.bucketNS
	shift := int64(pages*float64(columns)) * v.bucketNS
	edge := t.edgeNS
	if edge == 0 {
		edge = v.toNS
	}
	at := t.cursorNS
	if at == 0 {
		at = v.lastNS
	}
	at = min(max(at+shift, v.firstNS), v.lastNS)
	t.cursorNS = at
	t.edgeNS = min(max(edge+shift, min(v.firstNS+v.toNS-v.fromNS, v.lastNS)), v.lastNS)
	t.edgeNS = max(t.edgeNS, at)
}

// home moves to the first step.
func (t *timeline) home(v view) {
	if v.lastNS == 0 {
		return
	}
	t.cursorNS = v.firstNS
	t.edgeNS = min(v.firstNS+v.toNS-v.fromNS, v.lastNS)
}
