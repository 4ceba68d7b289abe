package cmd

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"opprof/testdata"
	"opprof/tui/keys"
)

const readme = "../README.md"

// generatedParts are the README's parts between <!-- name --> and <!-- /name -->.
func generatedParts() map[string]string {
	var preferences strings.Builder
	preferences.WriteString("| key | flag | variable | default | |\n|---|---|---|---|---|\n")
	for _, s := range settings() {
		usage := s.usage
		if s.choices != nil {
			usage += ": " + strings.Join(s.choices, ", ")
		}
		fmt.Fprintf(&preferences, "| `%s` | `--%s` | `%s` | `%s` | %s |\n", s.key, s.flag(), s.variable(), s.initial, usage)
	}
	return map[string]string{"keys": keys.Default().Table(), "preferences": preferences.String()}
}

func TestReadmeSaysWhatTheProgramDoes(t *testing.T) {
	have, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	text := string(have)
	for name, part := range generatedParts() {
		begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
		from, to := strings.Index(text, begin), strings.Index(text, end)
		if from < 0 || to < from {
			t.Fatalf("README has no part %s", name)
		}
		text = text[:from+len(begin)] + part + text[to:]
	}
	if *update {
		if err := os.WriteFile(readme, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text != string(have) {
		t.Errorf("README differs from the program: run go test ./cmd -run TestReadme -update")
	}
	root := newRoot(emptyEnv())
	for _, c := range root.Commands() {
		if name := "`opprof " + c.Name(); c.IsAvailableCommand() && c.Name() != "help" && c.Name() != "version" && !strings.Contains(text, name) {
			t.Errorf("README says nothing about opprof %s", c.Name())
		}
	}
	for line := range strings.Lines(exitStatusHelp) {
		code, _, _ := strings.Cut(line, " ")
		if !strings.Contains(text, code+" ") {
			t.Errorf("README says nothing about exit code %s", code)
		}
	}
}

func emptyEnv() *Env {
	env, _, _ := memoryEnv(nil)
	return env
}

// needs are the commands whose examples need more than a recording.
var needs = map[string]string{
	"opprof patch":     "an installed vLLM",
	"opprof trace":     "profiler traces",
	"opprof kernel":    "a list of kernels",
	"opprof experts":   "routed experts, as the scripts have them",
	"opprof calibrate": "profiler traces",
	"opprof campaign":  "a campaign, as the scripts have one",
	"opprof gate":      "paired results, as the scripts have them",
	"opprof export":    "other programs, as the scripts have them",
	"opprof launch":    "a server, as the scripts have one",
	"opprof status":    "a launched server",
	"opprof stop":      "a launched server",
	"opprof window":    "a launched server",
	"opprof supervise": "a launched server",
}

// Every command explains itself, and what its examples say works.
func TestHelpExamples(t *testing.T) {
	ran := 0
	each(newRoot(emptyEnv()), func(c *cobra.Command) {
		if c.Short == "" || c.Example == "" {
			t.Errorf("%s has no description or no example", c.CommandPath())
		}
		for path := range needs {
			if strings.HasPrefix(c.CommandPath(), path) {
				return
			}
		}
		for line := range strings.Lines(c.Example) {
			example, _, _ := strings.Cut(line, "#")
			if example = strings.TrimSpace(example); example != "" {
				ran++
				t.Run(example, func(t *testing.T) { runExample(t, example) })
			}
		}
	})
	if ran < 15 {
		t.Errorf("ran only %d examples", ran)
	}
}

// The lines of a command's help fit a terminal as texts of this program do, and only a command that opens a screen, or tells of its settings,
// takes flags of the screen.
func TestHelpLines(t *testing.T) {
	const longest = 150
	tellsOfScreens := []string{"opprof info", "opprof config"}
	each(newRoot(emptyEnv()), func(c *cobra.Command) {
		for line := range strings.Lines(c.Long) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > longest {
				t.Errorf("%s --help has a line of %d characters: %s", c.CommandPath(), n, line)
			}
		}
		flags := c.Flags()
		shows := flags.Lookup("once") != nil || slices.ContainsFunc(tellsOfScreens, func(p string) bool { return strings.HasPrefix(c.CommandPath(), p) })
		for _, name := range []string{"theme", "mouse", "tick", "sync-output", "density", "glyphs"} {
			if flags.Lookup(name) != nil && !shows && flags.Lookup("detach") == nil {
				t.Errorf("%s opens no screen, but takes --%s", c.CommandPath(), name)
			}
		}
	})
}

func each(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		if sub.Name() != "help" {
			each(sub, f)
		}
	}
}

// shellWords are the words of a command line; single quotes hold one together.
func shellWords(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

// runExample runs one line of help in a home with one run, which RUN stands for. URL stands for a server.
func runExample(t *testing.T, example string) {
	home := t.TempDir()
	t.Setenv("TMPDIR", home)
	vars := map[string]string{"HOME": home, "OPPROF_RUNS": filepath.Join(home, "runs")}
	run := filepath.Join(home, "runs", "20261130-model-tp1-abcd")
	stream, err := testdata.Recording("h200-tp1-literal")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(run, "layer1", "opprof-v1-dp0-pid2025-1.jsonl"), string(stream))

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, `vllm:num_requests_running 1`) }))
	defer server.Close()
	words := shellWords(strings.NewReplacer("RUN", run, "URL", server.URL).Replace(example))
	for len(words) > 0 && words[0] != "opprof" {
		name, value, ok := strings.Cut(words[0], "=")
		if !ok {
			t.Fatalf("%q does not begin with opprof", example)
		}
		vars[name] = value
		words = words[1:]
	}
	env, stdout, stderr := memoryEnv(vars, words[1:]...)
	if code := Main(env); code != ExitOK || stdout.Len() == 0 || stderr.Len() > 0 {
		t.Errorf("exit %d, printed %d bytes, errors: %s", code, stdout.Len(), stderr)
	}
}
