package runner

import (
	"opprof/campaign/report"
)

// Outcome is what is known of a run that ended. Nil is unknown.
type Outcome struct {
	Void         []string           `json:"void"`     // why it must not be compared with another
	Remarks      []string           `json:"remarks"`  // what deviates and harms no comparison
	Metrics      map[string]float64 `json:"metrics"`  // primary metrics that are known
	Requests     *int64             `json:"requests"` // that finished
	Failed       *int64             `json:"failed"`
	InputTokens  *int64             `json:"input_tokens"`
	OutputTokens *int64             `json:"output_tokens"`
	LoadS        *float64           `json:"load_s"`  // the measured part of the load
	StartS       *float64           `json:"start_s"` // until the server was ready
	TookNS       int64              `json:"took_ns"` // from the start to the end of the server
	CPU          *report.CPU        `json:"cpu"`
	Layer1       *report.Layer1     `json:"layer1"`
	Checks       []report.Check     `json:"checks"`
	Cache        Cache              `json:"cache"`
	Machine      Machine            `json:"machine"` // when the load began
	After        []Device           `json:"after"`   // its devices when the load had ended
	Generator    Generator          `json:"generator"`
	Windows      int                `json:"windows"`   // verified ones
	Responses    int                `json:"responses"` // with routed experts that were saved
	Backends     []string           `json:"backends"`  // what the server said about itself
	Versions     map[string]string  `json:"versions"`  // of vllm, torch, the patch and more
}

// Cache says in which state the caches of a server were.
type Cache struct {
	CompileS *float64  `json:"compile_s"` // seconds that torch.compile took, which with a warm cache are those of loading it
	Cold     bool      `json:"cold"`      // a graph was compiled anew
	Start    *Counters `json:"start"`     // before the load
	End      *Counters `json:"end"`       // after it
}

// Counters are the prefix cache's, in tokens, since the server started.
type Counters struct {
	Queries float64 `json:"queries"`
	Hits    float64 `json:"hits"`
}

// Generator is the program that made the load.
type Generator struct {
	Argv    []string `json:"argv"`
	Version string   `json:"version"`
}

// Device is a GPU at one moment. Nil is unknown.
type Device struct {
	UUID      string   `json:"uuid"`
	Name      string   `json:"name"`
	SMMHz     *float64 `json:"sm_mhz"`
	SMMaxMHz  *float64 `json:"sm_max_mhz"`
	MemoryMHz *float64 `json:"memory_mhz"`
	TempC     *float64 `json:"temperature_c"`
	PowerW    *float64 `json:"power_w"`
	CapW      *float64 `json:"power_cap_w"`
	UsedMiB   *float64 `json:"used_mib"`
}

// Machine is where a run took place. "" and nil are unknown.
type Machine struct {
	Host      string   `json:"host"`
	BootID    string   `json:"boot_id"`
	Kernel    string   `json:"kernel"`
	CPU       string   `json:"cpu"`
	Cores     int      `json:"cores"`
	MemoryMiB *int64   `json:"memory_mib"`
	Load1     *float64 `json:"load_1m"` // processes that wanted to run, over the minute before
	Driver    string   `json:"driver"`
	Devices   []Device `json:"devices"` // those that the server may use
	Notes     []string `json:"notes"`
}

// same reports whether two runs took place on the same machine and devices since the same start of it: what warms one up warms the other.
func (m Machine) same(o Machine) bool {
	if m.Host != o.Host || m.BootID != o.BootID || len(m.Devices) != len(o.Devices) {
		return false
	}
	for i := range m.Devices {
		if m.Devices[i].UUID != o.Devices[i].UUID {
			return false
		}
	}
	return true
}
