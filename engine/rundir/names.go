package rundir

import (
	"path/filepath"
	"strconv"
	"strings"
)

// Names of the files and folders of a run.
const (
	ManifestName  = "run.json"
	JournalName   = "journal.jsonl"
	NotesName     = "notes.jsonl" // bookmarks and notes of those who looked at the run
	ConfigName    = "config.toml"
	ServerLogName = "server.log"
	Layer1Name    = "layer1"
	KinetoName    = "kineto"
	WindowsName   = "windows"
	BenchName     = "bench"
	ExpertsName   = "experts"
	MetricsName   = "metrics.txt" // /metrics of the server, as it was just before its end
)

// StreamName takes the name of a Layer-1 stream file apart. Base is the path under which the recorder writes the stream; age is 0 for
// that file and the number of a rotated part otherwise (x.jsonl.2 is older than x.jsonl.1). A compressed copy (.gz, .zst) has the base and
// age of what it is a copy of. ok is false for any other file.
func StreamName(path string) (base string, age int, ok bool) {
	base = strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")
	if ext := filepath.Ext(base); ext != ".jsonl" && len(ext) > 1 && len(ext) <= 5 {
		n, err := strconv.ParseUint(ext[1:], 10, 16)
		if err != nil {
			return path, 0, false
		}
		base, age = strings.TrimSuffix(base, ext), int(n)
	}
	name := filepath.Base(base)
	if filepath.Ext(base) != ".jsonl" || name == ".jsonl" || name == JournalName || name == NotesName {
		return path, 0, false
	}
	return base, age, true
}

// IsTrace reports whether path is named like a torch profiler trace.
func IsTrace(path string) bool {
	name := strings.TrimSuffix(filepath.Base(path), ".gz")
	return strings.HasSuffix(name, ".pt.trace.json") && name != ".pt.trace.json"
}

// isRecorderName reports whether path is named as the recorder names its streams.
func isRecorderName(path string) bool {
	return strings.HasPrefix(filepath.Base(path), "opprof-")
}
