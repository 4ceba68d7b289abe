package rundir

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"opprof/engine/regular"
)

// ManifestSchema is the manifest schema this package writes. A higher one is read as far as it is known, and said.
const ManifestSchema = 1

// manifestMax bounds what is read of a manifest; a real one is a few kB.
const manifestMax = 16 << 20

// Manifest says everything needed to repeat or distrust a run (run.json). It is derived from the journal. Unknown values are null.
type Manifest struct {
	Schema       int64             `json:"schema"`
	ID           string            `json:"id"`
	Versions     map[string]string `json:"versions"` // vllm, torch, cuda, driver, python, opprof, patch_hash
	Model        Model             `json:"model"`
	Parallel     Parallel          `json:"parallel"`
	Quantization string            `json:"quantization"` // "" for none
	Backends     Backends          `json:"backends"`
	Argv         []string          `json:"argv"` // of the server
	Env          map[string]string `json:"env"`  // allowlisted names only, never a secret
	GPUs         []GPU             `json:"gpus"`
	Cache        Cache             `json:"cache"`
	Windows      []ManifestWindow  `json:"windows"`
	BytesPerStep *float64          `json:"bytes_per_step"` // Layer-1 bytes
	Exit         *Exit             `json:"exit"`           // null while the run is live
}

// Model is what was served.
type Model struct {
	Name        string `json:"name"`
	Path        string `json:"path"`
	Revision    string `json:"revision"`
	DType       string `json:"dtype"`
	MaxModelLen *int64 `json:"max_model_len"` // tokens
}

// Parallel holds the sizes of the parallel groups; 0 is unknown.
type Parallel struct {
	TP int64 `json:"tp"`
	DP int64 `json:"dp"`
	PP int64 `json:"pp"`
	EP bool  `json:"ep"`
}

// Backends names the kernels that the server said it chose, and the log lines that say so.
type Backends struct {
	MoE       string   `json:"moe"`
	Attention string   `json:"attention"`
	Lines     []string `json:"lines"`
}

// GPU is one device of the run.
type GPU struct {
	UUID     string           `json:"uuid"`
	Name     string           `json:"name"`
	Clocks   map[string]int64 `json:"clocks"`    // MHz by domain
	PowerCap *float64         `json:"power_cap"` // W
}

// Cache says in which state the caches were at the start.
type Cache struct {
	Prefix   *bool    `json:"prefix"`    // prefix caching is on
	CompileS *float64 `json:"compile_s"` // seconds of compilation; near 0 with a warm cache
}

// ManifestWindow is the short form of a profiler window; its summary.json has the rest.
type ManifestWindow struct {
	N      int64  `json:"n"`
	State  string `json:"state"`
	Reason string `json:"reason"`
}

// Exit says how a run ended.
type Exit struct {
	State  string `json:"state"`
	Reason string `json:"reason"`
}

// String is the state and the reason, which mostly begins with the state itself.
func (e *Exit) String() string {
	if e.Reason == "" || strings.HasPrefix(e.Reason, e.State+": ") {
		return cmp.Or(e.Reason, e.State)
	}
	return e.State + ": " + e.Reason
}

// ReadManifest reads the manifest of a run folder. A missing one gives nil and no problem. Whatever of a damaged one can be read is
// kept; each problem is a sentence that names the file and what to do, and none is fatal.
func ReadManifest(dir string) (*Manifest, []string) {
	path := filepath.Join(dir, ManifestName)
	f, err := regular.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var data []byte
	if err == nil {
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(f, manifestMax+1))
	}
	if err != nil {
		return nil, []string{fmt.Sprintf("cannot read run manifest: %v; the run is shown without it", err)}
	}
	if len(data) > manifestMax {
		return nil, []string{fmt.Sprintf("cannot read run manifest: %s is longer than %d bytes; the run is shown without it", path, manifestMax)}
	}
	return decodeManifest(path, data)
}

// decodeManifest takes field by field, so that one of an unexpected type costs that field only.
func decodeManifest(path string, data []byte) (*Manifest, []string) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, []string{fmt.Sprintf("cannot read run manifest: %s: expected a JSON object: %v; the run is shown without it", path, err)}
	}
	if fields == nil {
		return nil, []string{fmt.Sprintf("cannot read run manifest: %s: expected a JSON object, found null; the run is shown without it", path)}
	}
	var m Manifest
	var problems []string
	v := reflect.ValueOf(&m).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		raw, ok := fields[name]
		if !ok {
			continue
		}
		into := reflect.New(v.Field(i).Type())
		if err := json.Unmarshal(raw, into.Interface()); err != nil {
			problems = append(problems, fmt.Sprintf("cannot read field %q of run manifest %s: %v; it is shown as unknown", name, path, err))
			continue
		}
		v.Field(i).Set(into.Elem())
	}
	if m.Schema > ManifestSchema {
		problems = append(problems, fmt.Sprintf("run manifest %s has schema %d, this program knows %d: some of it may be misread; use a newer opprof",
			path, m.Schema, ManifestSchema))
	}
	return &m, problems
}

// WriteManifest replaces the manifest of a run folder, atomically.
func WriteManifest(dir string, m *Manifest) error {
	return WriteAtomic(filepath.Join(dir, ManifestName), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(m)
	})
}
