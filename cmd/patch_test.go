package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runPatch runs `patch ARGS` and returns what it printed and the code it would exit with.
func runPatch(t *testing.T, args ...string) (string, ExitCode, error) {
	t.Helper()
	var out bytes.Buffer
	env := &Env{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}
	root := newRoot(env)
	if found, _, err := root.Find([]string{"patch"}); err != nil || found == root {
		root.AddCommand(newPatch(env))
	}
	root.SetArgs(append([]string{"patch"}, args...))
	err := root.ExecuteContext(t.Context())
	return out.String(), exitCode(err), err
}

// otherVLLM is an installation that the patch does not fit.
func otherVLLM(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"vllm/__init__.py":               "",
		"vllm/envs.py":                   "A = 1\n",
		"vllm-0.23.0.dist-info/METADATA": "Name: vllm\nVersion: 0.23.0\n",
	} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPatchExitCodes(t *testing.T) {
	dir := otherVLLM(t)
	for _, c := range []struct {
		args string
		code ExitCode
		want string // in what is printed or in the error
	}{
		{"check --site " + dir, ExitCheck, "want vllm 0.24.0, found 0.23.0"},
		{"diff --site " + dir, ExitCheck, "vllm/envs.py"},
		{"apply --site " + dir, ExitCheck, "the file was changed"},
		{"revert --site " + dir, ExitOK, "was not patched"},
		{"check --site /nowhere", ExitFailure, "no vllm package in /nowhere"},
		{"check --python /nowhere/python", ExitFailure, "cannot find the interpreter"},
		{"check --source " + dir, ExitFailure, "not a vLLM source checkout"},
		{"check --no-such-flag", ExitUsage, "no-such-flag"},
		{"check --site /a --python /b", ExitUsage, "give one of them"},
		{"apply --site /a --source /b", ExitUsage, "give one of them"},
		{"check extra", ExitUsage, "takes no argument"},
		{"chek", ExitUsage, `no command "chek"`},
	} {
		out, code, err := runPatch(t, strings.Fields(c.args)...)
		text := out
		if err != nil {
			text += err.Error()
		}
		if code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("patch %s: code %d, want %d with %q:\n%s", c.args, code, c.code, c.want, text)
		}
	}
}

func TestPatchCheckJSON(t *testing.T) {
	out, code, _ := runPatch(t, "check", "--json", "--site", otherVLLM(t))
	var report struct {
		Schema   int
		State    string
		Problems []struct{ File, Anchor, Want, Found, Fix string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if code != ExitCheck || report.Schema != 1 || report.State != "refused" || len(report.Problems) < 3 {
		t.Errorf("code %d, %+v", code, report)
	}
	for _, p := range report.Problems {
		if p.Want == "" || p.Found == "" || p.Fix == "" {
			t.Errorf("a problem says too little: %+v", p)
		}
	}
}
