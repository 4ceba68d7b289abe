package kineto

import (
	"encoding/json"
	"regexp"
	"strconv"
)

// metadata takes one member of the outermost object. What cannot be read is left unknown.
func (s *scanner) metadata(key string, value []byte) {
	m := &s.t.Metadata
	switch key {
	case `"baseTimeNanoseconds"`:
		s.t.BaseNS = intOf(value)
	case `"cuda_driver_version"`, `"hip_driver_version"`:
		m.DriverVersion = intOf(value)
	case `"cuda_runtime_version"`, `"hip_runtime_version"`:
		m.RuntimeVersion = intOf(value)
	case `"cupti_version"`, `"roctracer_version"`:
		m.CUPTIVersion = intOf(value)
	case `"trace_id"`:
		_ = json.Unmarshal(value, &m.TraceID)
	case `"deviceProperties"`:
		var devices []struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(value, &devices) == nil && len(devices) > 0 {
			m.Device = devices[0].Name
		}
	case `"distributedInfo"`:
		var d struct {
			Rank      json.Number `json:"rank"`
			WorldSize json.Number `json:"world_size"`
		}
		d.Rank = "-1"
		_ = json.Unmarshal(value, &d)
		if r, err := d.Rank.Int64(); err == nil {
			s.rankSeen = r
		}
		s.t.World, _ = d.WorldSize.Int64()
	}
}

func intOf(value []byte) int64 {
	v, _ := parseInt(value)
	return v
}

// A trace's name as vLLM's workers give it (vllm/distributed/utils.py, get_worker_rank_suffix): all coordinates for mixture-of-experts
// models, the rank alone for dense ones; CPU workers write <ns>-rank-<r>.<ns>.
var (
	fullName  = regexp.MustCompile(`^(?:.*_)?dp(\d+)_pp(\d+)_tp(\d+)_dcp(\d+)(?:_ep(\d+))?_rank(\d+)\.`)
	shortName = regexp.MustCompile(`(?:^|[^a-z])rank[-_]?(\d+)(?:[._-]|$)`)
)

func rankFromName(name string) Rank {
	none := Rank{Global: -1, DP: -1, PP: -1, TP: -1, DCP: -1, EP: -1}
	if m := fullName.FindStringSubmatch(name); m != nil {
		return Rank{DP: atoi(m[1]), PP: atoi(m[2]), TP: atoi(m[3]), DCP: atoi(m[4]), EP: atoi(m[5]), Global: atoi(m[6]), From: "file name"}
	}
	if m := shortName.FindStringSubmatch(name); m != nil {
		none.Global, none.From = atoi(m[1]), "file name"
	}
	return none
}

func atoi(s string) int64 {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	return v
}

// RankOf reads a rank from a file name alone.
func RankOf(name string) Rank { return rankFromName(name) }
