package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// recorderDir holds the recorder with its pytest and its benchmark.
var recorderDir = filepath.Join("..", "python")

// TestRecorderPytest runs the patch's own tests with real scheduler objects, on the vllm of an overlay.
func TestRecorderPytest(t *testing.T) {
	python := vllmPython(t)
	if text, err := exec.CommandContext(t.Context(), python, "-m", "pytest", "--version").CombinedOutput(); err != nil {
		t.Fatalf("%s has no pytest (.ci/vllm-cpu.sh installs it): %v\n%s", python, err, text)
	}
	text, err := runInOverlay(t, python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_opprof.py")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	t.Log(lines[len(lines)-1])
}

// BenchmarkRecorder prints what the recorder costs the serving thread, by batch size.
func BenchmarkRecorder(b *testing.B) {
	python := vllmPython(b)
	for b.Loop() {
		text, err := runInOverlay(b, python, "bench_opprof.py")
		if err != nil {
			b.Fatalf("%v\n%s", err, text)
		}
		b.Log("\n" + text)
	}
}

// runInOverlay runs Python on copies of the recorder's test files, with the patched vllm in front.
func runInOverlay(t testing.TB, python string, arguments ...string) (string, error) {
	t.Helper()
	o := buildOverlay(t, python)
	dir := t.TempDir()
	for _, name := range []string{"test_opprof.py", "bench_opprof.py"} {
		text, err := os.ReadFile(filepath.Join(recorderDir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), python, arguments...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONPATH="+o.PythonPath(""), "HF_HUB_OFFLINE=1", "PYTHONDONTWRITEBYTECODE=1")
	text, err := cmd.CombinedOutput()
	return string(text), err
}
