package testdata

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

//go:embed traces/h200-tp1/*.zst
var traceFiles embed.FS

// Traces returns the names of the profiler traces that a recording has, sorted. Most have none here.
func Traces(recording string) []string {
	files, err := fs.Glob(traceFiles, "traces/"+recording+"/*.zst")
	if err != nil {
		return nil
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(path.Base(f), ".zst")
	}
	slices.Sort(files)
	return files
}

// Trace opens a trace of a recording, uncompressed: some ten megabytes. The caller closes it.
func Trace(recording, name string) (io.ReadCloser, error) {
	f, err := traceFiles.Open("traces/" + recording + "/" + name + ".zst")
	if err != nil {
		return nil, fmt.Errorf("recording %s has no trace %q", recording, name)
	}
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("cannot read trace %s: %w", name, err)
	}
	return z.IOReadCloser(), nil
}
