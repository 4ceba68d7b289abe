package rundir

import (
	"bufio"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"

	"opprof/engine/regular"
)

// beganMax bounds the first line of a journal or stream; real ones are below a kB.
const beganMax = 64 << 10

// began is when a run was begun, ns since 1970: the time of its journal's first event, or else the earliest start of its streams' engines
// (schema of the records, header); 0 unknown.
func began(dir string) int64 {
	if ns := firstLine(filepath.Join(dir, JournalName)).WallNS; ns > 0 {
		return ns
	}
	var earliest int64
	streams, _ := filepath.Glob(filepath.Join(dir, Layer1Name, "*.jsonl"))
	for _, path := range streams[:min(len(streams), entriesMax)] {
		if ns := firstLine(path).StartWallNS; ns > 0 && (earliest == 0 || ns < earliest) {
			earliest = ns
		}
	}
	return earliest
}

// opening is what the first line of a journal or stream tells of time.
type opening struct {
	WallNS      int64 `json:"wall_ns"`
	StartWallNS int64 `json:"start_wall_ns"`
}

// firstLine reads a file's first line; what cannot be read tells nothing.
func firstLine(path string) opening {
	var o opening
	f, err := regular.Open(path)
	if err != nil {
		return o
	}
	defer func() { _ = f.Close() }()
	line, err := bufio.NewReader(io.LimitReader(f, beganMax)).ReadString('\n')
	if err != nil || json.Unmarshal([]byte(strings.TrimSpace(line)), &o) != nil {
		return opening{}
	}
	return o
}
