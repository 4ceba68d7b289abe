package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"opprof/engine/rundir"
	"opprof/testdata"
)

// hostileName holds what a terminal must not see: sequences in both forms, a bell, a line end and a mark of direction.
const hostileName = "a\nopprof: all is well\x1b]0;evil\a\u009b2J\u202etxt"

// strange finds the first rune of an output that does more than stand there.
func strange(out string) int {
	return strings.IndexFunc(out, func(r rune) bool { return r != '\n' && r != ' ' && r != '\t' && !unicode.IsPrint(r) })
}

func TestNothingStrangeIsPrinted(t *testing.T) {
	runs := t.TempDir()
	stream, err := testdata.Recording("h200-tp2-eager")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(stream, []byte("\n"))
	bad := bytes.ReplaceAll(bytes.Join(lines[:20], nil), []byte(`"model":"`), []byte("\"model\":\"\u202e\u009b"))
	bad = append(bad, "\x1b[31mnot a step\u202e\u009b31m\n"...)
	dir := filepath.Join(runs, hostileName, rundir.Layer1Name)
	for _, err := range []error{
		os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "opprof-v1-\x1b[2J\n-1.jsonl"), bad, 0o600),
		os.Mkdir(filepath.Join(dir, "x"), 0o000),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	run := filepath.Join(runs, hostileName)
	for _, args := range [][]string{
		{"check", run}, {"check", "--json", run}, {"check", run + "\x1b[31mmissing"}, {"review", "--once", run}, {"review", "--once", "--json", run},
		{"attach", "--once", run}, {"review", "--once", "--engine", "\x1b[31m", run}, {"trace", run}, {"list"}, {"list", "--json"}, {"status", run}, {"stop", run},
		{"kernel", hostileName}, {"kernel", "--rules", run, "x"}, {"__complete", "review", ""}, {"config", "\x1b[31m"}, {"\x1b[31m\nx"}, {"review", "--\x1b[31m"},
		{"gate", run}, {"review", "--once", "--config", run, run}, {"review", "--once", "--theme", hostileName, run}, {"info", "--log-file", hostileName},
		{"launch", "--dry-run", "--run", run, "--campaign", run}, {"demo", "--recording", hostileName}, {"window", "list", run}, {"completion", hostileName},
	} {
		t.Run(args[0], func(t *testing.T) {
			env, out, failed := memoryEnv(map[string]string{"OPPROF_RUNS": runs})
			env.Args = args
			Main(env)
			for _, text := range []string{out.String(), failed.String()} {
				if i := strange(text); i >= 0 {
					t.Errorf("%q printed %q", args, text[max(0, i-40):min(len(text), i+40)])
				}
				if strings.Contains(text, "\nopprof: all is well") {
					t.Errorf("%q printed a line of a name's making: %q", args, text)
				}
			}
			if out.Len()+failed.Len() == 0 {
				t.Errorf("%q printed nothing", args)
			}
		})
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"plain text":             "plain text",
		"日本語 é":                  "日本語 é",
		"a\nb\tc":                `a\nb\tc`,
		"\x1b[31mred":            `\x1b[31mred`,
		"\u009b2J\u202e\u200b\a": `\u009b2J\u202e\u200b\a`,
		"\xff\xfe":               `\xff\xfe`,
		"it's \\ \"q\"":          "it's \\ \"q\"",
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) = %q, want %q", in, got, want)
		}
	}
}

// Escapes in JSON output mean what they stand for.
func TestPrintJSON(t *testing.T) {
	in := "a\u0085b\u009b2J\u202e\u2066\u200d\ufeff\U000e0041 \u2028<é日本>\x7f"
	var out bytes.Buffer
	if err := printJSON(&out, map[string]string{in: in}); err != nil {
		t.Fatal(err)
	}
	if i := strange(out.String()); i >= 0 {
		t.Errorf("raw runes in %q", out.String())
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back[in] != in {
		t.Errorf("%q came back as %q, %v", in, back, err)
	}
}

func TestErrorLines(t *testing.T) {
	one, two := errors.New("one\nline"), errors.New("two")
	for _, c := range []struct {
		err  error
		want []string
	}{
		{one, []string{`one\nline`}},
		{errors.Join(one, two), []string{`one\nline`, "two"}},
		{fmt.Errorf("of %s: %w", "a\nb", errors.Join(two, fmt.Errorf("in: %w", errors.Join(one, two)))), []string{`of a\nb: two`, `in: one\nline`, "two"}},
		{fmt.Errorf("%w and %w", one, two), []string{`one\nline and two`}},
	} {
		if got := errorLines(c.err); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.err, got, c.want)
		}
	}
}
