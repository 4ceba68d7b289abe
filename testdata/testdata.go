// Package testdata holds real Layer-1 streams for tests and for the demo. SOURCE.tsv beside each set says where it comes from.
//
// The go tool leaves folders of this name out of ./... patterns: name ./testdata in vet and test commands.
package testdata

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

//go:embed records/*.jsonl.zst
var recordFiles embed.FS

const suffix = ".jsonl.zst"

// Recordings returns the names that Recording takes, sorted.
func Recordings() []string {
	files, err := fs.Glob(recordFiles, "records/*"+suffix)
	if err != nil {
		return nil
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(strings.TrimPrefix(f, "records/"), suffix)
	}
	slices.Sort(files)
	return files
}

// Recording returns one whole Layer-1 stream, uncompressed: a header, step and profile lines, a footer. The error names the recordings
// that exist when there is none of this name.
func Recording(name string) ([]byte, error) {
	f, err := recordFiles.Open("records/" + name + suffix)
	if err != nil {
		return nil, fmt.Errorf("there is no recording %q: the recordings are %s", name, strings.Join(Recordings(), ", "))
	}
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("cannot read recording %s: %w", name, err)
	}
	defer z.Close()
	stream, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("cannot read recording %s: %w", name, err)
	}
	return stream, nil
}
