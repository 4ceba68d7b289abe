package testdata

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
)

//go:embed experts/response*.json
var expertFiles embed.FS

// Experts returns responses of a server that returned the experts of every token, by file name. They are of the recordings' model, from a
// server of its own.
func Experts() (map[string][]byte, error) {
	files, err := fs.Glob(expertFiles, "experts/*.json")
	if err != nil {
		return nil, fmt.Errorf("cannot list routed experts: %w", err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		text, err := expertFiles.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("cannot read routed experts: %w", err)
		}
		out[path.Base(f)] = text
	}
	return out, nil
}
