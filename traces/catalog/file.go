package catalog

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"opprof/engine/regular"
	"opprof/traces/capture"
)

// file is one trace file as it was last seen. It belongs to the looking goroutine.
type file struct {
	path     string
	exportNS int64 // when its profiler wrote it, by its name; by its last change where the name does not say
	size     int64
	modNS    int64
	quiet    bool // as large as at the look before
	state    FileState
	why      string
	part     capture.Part
	told     bool // its timeline was read, or cannot be
}

func (f *file) view() File { return File{Path: f.path, Bytes: f.size, State: f.state, Why: f.why} }

var exportStamp = regexp.MustCompile(`\.(\d{16,19})\.pt\.trace\.json`)

// exportTime reads the time from a trace's name, ns since 1970; 0 when it has none.
func exportTime(path string) int64 {
	m := exportStamp.FindStringSubmatch(filepath.Base(path))
	if m == nil {
		return 0
	}
	ns, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0
	}
	return ns
}

// see takes note of a file's size and time. A file that changed since it was read is read again.
func (f *file) see(st os.FileInfo) {
	size, mod := st.Size(), st.ModTime().UnixNano()
	f.quiet = size == f.size && mod == f.modNS
	if f.quiet {
		return
	}
	f.size, f.modNS = size, mod
	f.state, f.why, f.part, f.told = FilePending, "", capture.Part{}, false
	if f.exportNS = exportTime(f.path); f.exportNS == 0 {
		f.exportNS = mod
	}
}

// renamed takes note that a file that was read is there compressed now, and reports whether it is: what was read of it stays.
func (f *file) renamed(path string) bool {
	st, err := os.Stat(path)
	if err != nil || f.state != FileRead {
		return false
	}
	f.path, f.size, f.modNS, f.quiet = path, st.Size(), st.ModTime().UnixNano(), true
	return true
}

// closed reports whether the file may be whole: an uncompressed one ends with its last brace. Of a compressed one only reading tells.
func closed(path string, size int64) (bool, error) {
	if strings.HasSuffix(path, ".gz") {
		return size > 0, nil
	}
	f, err := regular.Open(path)
	if err != nil {
		return false, fmt.Errorf("cannot read trace: %w", err)
	}
	defer f.Close()
	var tail [64]byte
	n, err := f.ReadAt(tail[:min(size, int64(len(tail)))], max(0, size-int64(len(tail))))
	if err != nil && err != io.EOF {
		return false, fmt.Errorf("cannot read trace: %w", err)
	}
	text := bytes.TrimSpace(tail[:n])
	return len(text) > 0 && text[len(text)-1] == '}' || bytes.HasPrefix(tail[:n], []byte{0x28, 0xb5, 0x2f, 0xfd}) || size > 0 && strings.HasSuffix(path, ".zst"), nil
}
