package testdata

import (
	"embed"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

//go:embed logs/*.log.zst
var logFiles embed.FS

// Log returns the whole log of the server that wrote a recording, uncompressed.
func Log(name string) ([]byte, error) {
	f, err := logFiles.Open("logs/" + name + ".log.zst")
	if err != nil {
		return nil, fmt.Errorf("there is no log of %q: the recordings are %s", name, strings.Join(Recordings(), ", "))
	}
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("cannot read the log of %s: %w", name, err)
	}
	defer z.Close()
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("cannot read the log of %s: %w", name, err)
	}
	return text, nil
}
