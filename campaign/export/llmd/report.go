package llmd

// Version is the version of the format.
const Version = "0.2.1"

// Report is a benchmark report. Names and nesting are the format's; a nil part is left out.
type Report struct {
	Version  string    `json:"version"`
	Run      Run       `json:"run"`
	Scenario *Scenario `json:"scenario,omitempty"`
	Results  Results   `json:"results"`
}

// Run says which run it was.
type Run struct {
	UID         string   `json:"uid"`
	EID         string   `json:"eid,omitempty"` // the campaign
	Time        *Time    `json:"time,omitempty"`
	Description string   `json:"description,omitempty"`
	Keywords    []string `json:"keywords,omitempty"`
}

// Time is when it was, in ISO 8601.
type Time struct {
	Start    string `json:"start,omitempty"`
	End      string `json:"end,omitempty"`
	Duration string `json:"duration,omitempty"`
}

// Scenario is the server and its load.
type Scenario struct {
	Stack []Component `json:"stack,omitempty"`
	Load  *Load       `json:"load,omitempty"`
}

// Component is the server.
type Component struct {
	Metadata     Metadata `json:"metadata"`
	Standardized Engine   `json:"standardized"`
	Native       Native   `json:"native"`
}

// Metadata names a component; CfgID is a hash of its configuration.
type Metadata struct {
	SchemaVersion string `json:"schema_version"`
	Label         string `json:"label,omitempty"`
	CfgID         string `json:"cfg_id,omitempty"`
}

// Engine is an inference engine.
type Engine struct {
	Kind        string      `json:"kind"`
	Tool        string      `json:"tool"`
	ToolVersion string      `json:"tool_version"`
	Role        string      `json:"role"`
	Replicas    int64       `json:"replicas"`
	Model       Name        `json:"model"`
	Accelerator Accelerator `json:"accelerator"`
}

// Name is an object that holds a name.
type Name struct {
	Name string `json:"name"`
}

// Accelerator is what the engine ran on.
type Accelerator struct {
	Model       string      `json:"model"`
	Count       int64       `json:"count"`
	Parallelism Parallelism `json:"parallelism"`
}

// Parallelism holds sizes of groups; an unknown one is left out.
type Parallelism struct {
	TP int64 `json:"tp,omitempty"`
	DP int64 `json:"dp,omitempty"`
	EP int64 `json:"ep,omitempty"`
	PP int64 `json:"pp,omitempty"`
}

// Native is a configuration in the tool's own words.
type Native struct {
	Args   map[string]any    `json:"args,omitempty"`
	Envars map[string]string `json:"envars,omitempty"`
}

// Load is the load generator and what it sent.
type Load struct {
	Metadata     Metadata `json:"metadata"`
	Standardized Workload `json:"standardized"`
	Native       Native   `json:"native"`
}

// Workload describes a load.
type Workload struct {
	Tool         string   `json:"tool"`
	ToolVersion  string   `json:"tool_version"`
	Source       string   `json:"source"`
	Stage        int64    `json:"stage"`
	InputSeqLen  Length   `json:"input_seq_len"`
	OutputSeqLen *Length  `json:"output_seq_len,omitempty"`
	RateQPS      *float64 `json:"rate_qps,omitempty"`
	Concurrency  *float64 `json:"concurrency,omitempty"`
}

// Length is a distribution of token counts.
type Length struct {
	Distribution string  `json:"distribution"`
	Value        float64 `json:"value"`
	Min          *int64  `json:"min,omitempty"`
	Max          *int64  `json:"max,omitempty"`
}

// Results are what was measured.
type Results struct {
	RequestPerformance *RequestPerformance `json:"request_performance,omitempty"`
	Observability      *Observability      `json:"observability,omitempty"`
	Profiling          *Profiling          `json:"profiling,omitempty"`
}

// RequestPerformance is what the load generator measured.
type RequestPerformance struct {
	Aggregate Aggregate `json:"aggregate"`
}

// Aggregate is that over all requests.
type Aggregate struct {
	Requests   *Requests   `json:"requests,omitempty"`
	Latency    *Latency    `json:"latency,omitempty"`
	Throughput *Throughput `json:"throughput,omitempty"`
}

// Requests are counts.
type Requests struct {
	Total        int64       `json:"total"`
	Failures     *int64      `json:"failures,omitempty"`
	InputLength  *Statistics `json:"input_length,omitempty"`
	OutputLength *Statistics `json:"output_length,omitempty"`
}

// Latency is times of requests.
type Latency struct {
	TTFT    *Statistics `json:"time_to_first_token,omitempty"`
	TPOT    *Statistics `json:"time_per_output_token,omitempty"`
	ITL     *Statistics `json:"inter_token_latency,omitempty"`
	Request *Statistics `json:"request_latency,omitempty"`
}

// Throughput is rates.
type Throughput struct {
	Input   *Statistics `json:"input_token_rate,omitempty"`
	Output  *Statistics `json:"output_token_rate,omitempty"`
	Total   *Statistics `json:"total_token_rate,omitempty"`
	Request *Statistics `json:"request_rate,omitempty"`
}

// Statistics describe a quantity. The mean is always known.
type Statistics struct {
	Units  string   `json:"units"`
	Mean   float64  `json:"mean"`
	StdDev *float64 `json:"stddev,omitempty"`
	Min    *float64 `json:"min,omitempty"`
	P1     *float64 `json:"p1,omitempty"`
	P5     *float64 `json:"p5,omitempty"`
	P10    *float64 `json:"p10,omitempty"`
	P25    *float64 `json:"p25,omitempty"`
	P50    *float64 `json:"p50,omitempty"`
	P75    *float64 `json:"p75,omitempty"`
	P90    *float64 `json:"p90,omitempty"`
	P95    *float64 `json:"p95,omitempty"`
	P99    *float64 `json:"p99,omitempty"`
	P99P9  *float64 `json:"p99p9,omitempty"`
	Max    *float64 `json:"max,omitempty"`
}

// Observability is what the server's own records say.
type Observability struct {
	Components []Observed `json:"components"`
}

// Observed is that of one component.
type Observed struct {
	Label     string    `json:"component_label"`
	Aggregate Resources `json:"aggregate"`
}

// Resources are averages over steps.
type Resources struct {
	KVUsage     *Statistics `json:"kv_cache_usage,omitempty"`
	HitRate     *Statistics `json:"cache_hit_rate,omitempty"`
	Running     *Statistics `json:"running_requests,omitempty"`
	Waiting     *Statistics `json:"waiting_requests,omitempty"`
	Preemptions *Statistics `json:"preemptions,omitempty"`
}

// Profiling is what only OpProf knows; the format leaves this part free.
type Profiling struct {
	Tool            string   `json:"tool"`
	Run             string   `json:"run"` // folder
	Steps           int64    `json:"steps"`
	PeriodNS        *Periods `json:"step_period_ns,omitempty"`
	PrefillTokens   int64    `json:"prefill_tokens"`
	DecodeTokens    int64    `json:"decode_tokens"`
	GraphSteps      any      `json:"graph_steps"`
	DroppedRecords  int64    `json:"dropped_records"`
	Gaps            int64    `json:"gaps"`
	Stalls          int64    `json:"stalls"`
	BadLines        int64    `json:"bad_lines"`
	ProfilerWindows int64    `json:"profiler_windows"`
}

// Periods are quantiles of the step period, with the largest relative error of the inner ones in percent.
type Periods struct {
	N        int64   `json:"n"`
	P50      int64   `json:"p50"`
	P95      int64   `json:"p95"`
	P99      int64   `json:"p99"`
	Max      int64   `json:"max"`
	ErrorPct float64 `json:"error_pct"`
}
