package rundir

import "strconv"

// Description says what is open: the run's identity and where it lies, for the header of every screen and for `--once --json`. Values a
// run does not tell are at their zero value and shown as "-".
type Description struct {
	ID             string   `json:"id"`
	Path           string   `json:"path"`
	Kind           string   `json:"kind"`       // live, finished, demo
	Model          string   `json:"model"`      // the name that it is served by
	ModelPath      string   `json:"model_path"` // what the server loaded, where that is not the name; else ""
	VLLMVersion    string   `json:"vllm_version"`
	PatchHash      string   `json:"patch_hash"` // "" when the recorder does not say
	TensorParallel int64    `json:"tensor_parallel"`
	DataParallel   int64    `json:"data_parallel"`
	PipeParallel   int64    `json:"pipeline_parallel"`
	ExpertParallel bool     `json:"expert_parallel"`
	GraphMode      string   `json:"cudagraph_mode"`
	PrefixCaching  *bool    `json:"prefix_caching"`
	AsOfNS         int64    `json:"as_of_ns"` // when the files of a run whose server still ran were read once, ns since 1970; 0 for all others
	FirstNS        int64    `json:"first_ns"` // completion of the first step, ns since 1970; 0 before one
	LastNS         int64    `json:"last_ns"`
	Streams        []Stream `json:"streams"`
	Traces         []string `json:"traces"` // paths below Path
	ServerLog      string   `json:"server_log"`
	Unlisted       string   `json:"unlisted"` // why the streams' folder could not be listed, as when it was deleted; "" when it could
	Problems       []string `json:"problems"` // what could not be read or is missing, in sentences
}

// Serves takes the model that a server's records name, which is what it was told to load: the name where the manifest has none.
func (d *Description) Serves(model string) {
	switch {
	case d.Model == "":
		d.Model = model
	case model != "" && model != d.Model:
		d.ModelPath = model
	}
}

// State says what the kind means for whoever reads: a run that was read once while its server ran is not finished. moment writes a time.
func (d *Description) State(moment func(ns int64) string) string {
	if d.AsOfNS == 0 {
		return d.Kind
	}
	return "running, as of " + moment(d.AsOfNS)
}

// Parallel names the parallel sizes: TP always, the others where they are more than one; "" when TP is unknown.
func (d *Description) Parallel() string {
	if d.TensorParallel == 0 {
		return ""
	}
	s := "TP" + strconv.FormatInt(d.TensorParallel, 10)
	if d.DataParallel > 1 {
		s += " DP" + strconv.FormatInt(d.DataParallel, 10)
	}
	if d.PipeParallel > 1 {
		s += " PP" + strconv.FormatInt(d.PipeParallel, 10)
	}
	if d.ExpertParallel {
		s += " EP"
	}
	return s
}

// Stream is one Layer-1 file of a run and how far it was read.
type Stream struct {
	Path          string  `json:"path"`
	Bytes         int64   `json:"bytes"` // size on disk
	ReadBytes     int64   `json:"read_bytes"`
	Lines         int64   `json:"lines"`
	BadLines      int64   `json:"bad_lines"`
	FallbackShare float64 `json:"fallback_share"` // share of lines that needed the tolerant scanner, in [0,1]
	TornTail      bool    `json:"torn_tail"`
	FirstBad      string  `json:"first_bad"` // the first bad line, located; "" if none
	Gone          bool    `json:"gone"`      // the file was deleted; what was read stays
	Restarts      int64   `json:"restarts"`  // times that the file was cut, overwritten or replaced while it was read
	Error         string  `json:"error"`
}
