package cmd

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompressEndsWithItsSupervisor: what compresses for a supervisor that was killed has its input closed, and leaves the trace.
func TestCompressEndsWithItsSupervisor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rank0.1.pt.trace.json")
	text := make([]byte, 64<<20) // seconds of work
	for random, i := rand.NewChaCha8([32]byte{}), 0; i < len(text); i += 1 << 20 {
		_, _ = random.Read(text[i : i+1<<20])
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("opprof", "compress", path).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "context canceled") {
		t.Errorf("%v: %s", err, out)
	}
	if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, text) {
		t.Errorf("the trace is not as it was: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}
