package cmd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// memoryEnv is an Env without a terminal whose environment is env and nothing else.
func memoryEnv(env map[string]string, args ...string) (*Env, *bytes.Buffer, *bytes.Buffer) {
	var stdout, stderr bytes.Buffer
	return &Env{
		Args: args, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(name string) string { return env[name] },
		Now:    func() time.Time { return time.Unix(1_800_000_000, 0) },
		Notify: context.WithCancel,
	}, &stdout, &stderr
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Flag wins over environment, over NO_COLOR, over the file, over the default.
func TestPreferencesAreLookedUpInOrder(t *testing.T) {
	file := "color = \"always\"\ntick = \"1s\"\n"
	for _, c := range []struct {
		name string
		file string
		env  map[string]string
		args []string
		want string // a line of config print, spaces squeezed
	}{
		{"default", "", nil, nil, `color = "auto" # default`},
		{"file", file, nil, nil, `color = "always" # FILE:1`},
		{"file's second line", file, nil, nil, `tick = "1s" # FILE:2`},
		{"NO_COLOR of any text", file, map[string]string{"NO_COLOR": "yes"}, nil, `color = "never" # $NO_COLOR`},
		{"variable", file, map[string]string{"NO_COLOR": "1", "OPPROF_COLOR": "auto"}, nil, `color = "auto" # $OPPROF_COLOR`},
		{"flag", file, map[string]string{"OPPROF_COLOR": "auto"}, []string{"--color", "never"}, `color = "never" # --color`},
		{"third line", "\n\nglyphs = \"ascii\"", nil, nil, `glyphs = "ascii" # FILE:3`},
		{"quoted key", `"time_zone" = "utc"`, nil, nil, `time_zone = "utc" # FILE:1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "opprof", "config.toml")
			if c.file != "" {
				writeFile(t, path, c.file)
			}
			vars := map[string]string{"XDG_CONFIG_HOME": dir}
			for k, v := range c.env {
				vars[k] = v
			}
			env, stdout, stderr := memoryEnv(vars, append([]string{"config", "print"}, c.args...)...)
			if code := Main(env); code != ExitOK {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			want := strings.ReplaceAll(c.want, "FILE", path)
			for line := range strings.Lines(stdout.String()) {
				if strings.Join(strings.Fields(line), " ") == want {
					return
				}
			}
			t.Errorf("no line %s in\n%s", want, stdout)
		})
	}
}

// Every fault is a usage error that names its place, what was expected, and the key that was probably meant.
func TestFaultyPreferences(t *testing.T) {
	for _, c := range []struct {
		name, file string
		env        map[string]string
		args       []string
		want       []string
	}{
		{"unknown key", "# x\nthem = \"dark\"", nil, nil, []string{":2:", `unknown key "them"`, `"theme"`}},
		{"unknown key far from all", "zzzzzzzz = 1", nil, nil, []string{":1:", `unknown key "zzzzzzzz"`}},
		{"unknown table", "tick = \"1s\"\n[server]\nhost = \"x\"", nil, nil, []string{":2:", `unknown key "server"`}},
		{"bad value", "\ntheme = \"pink\"", nil, nil, []string{":2:", "theme", "pink", "dark"}},
		{"bad duration", "tick = \"soon\"", nil, nil, []string{":1:", "50ms", "soon"}},
		{"wrong type", "tick = 3", nil, nil, []string{":1:", "tick", "a text in quotes"}},
		{"not TOML", "theme = \"dark\"\ntick = = 3", nil, nil, []string{":2:"}},
		{"twice", "theme = \"dark\"\ntheme = \"light\"", nil, nil, []string{":2:", "theme"}},
		{"variable", "", map[string]string{"OPPROF_GLYPHS": "runes"}, nil, []string{"$OPPROF_GLYPHS", "ascii", "runes"}},
		{"flag", "", nil, []string{"--tick=1ns"}, []string{"--tick", "50ms"}},
		{"named file is missing", "", nil, []string{"--config=/nowhere/c.toml"}, []string{"/nowhere/c.toml"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.file != "" {
				writeFile(t, filepath.Join(dir, "opprof", "config.toml"), c.file)
			}
			vars := map[string]string{"XDG_CONFIG_HOME": dir}
			for k, v := range c.env {
				vars[k] = v
			}
			env, stdout, stderr := memoryEnv(vars, append([]string{"config", "print"}, c.args...)...)
			if code := Main(env); code != ExitUsage {
				t.Errorf("exit %d, want %d", code, ExitUsage)
			}
			for _, part := range c.want {
				if !strings.Contains(stderr.String(), part) {
					t.Errorf("%q does not say %q", stderr, part)
				}
			}
			if stdout.Len() > 0 {
				t.Errorf("printed %q", stdout)
			}
		})
	}
}

// What config init writes is read back, as it is and with its lines in force, as the defaults.
func TestConfigInitWritesTheDefaults(t *testing.T) {
	dir := t.TempDir()
	vars := map[string]string{"XDG_CONFIG_HOME": dir}
	printed := func() string {
		env, stdout, stderr := memoryEnv(vars, "config", "print")
		if code := Main(env); code != ExitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		var values []string
		for line := range strings.Lines(stdout.String()) {
			value, _, _ := strings.Cut(line, "#")
			values = append(values, strings.TrimSpace(value))
		}
		return strings.Join(values, "\n")
	}
	want := printed()

	env, stdout, stderr := memoryEnv(vars, "config", "init", "--user")
	if code := Main(env); code != ExitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	path := filepath.Join(dir, "opprof", "config.toml")
	if got := strings.TrimSpace(stdout.String()); got != path {
		t.Errorf("printed %q, want %q", got, path)
	}
	if got := printed(); got != want {
		t.Errorf("with the file:\n%s\nwithout:\n%s", got, want)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	inForce := strings.NewReplacer("# theme =", "theme =", "# tick =", "tick =", "# color =", "color =").Replace(string(text))
	writeFile(t, path, inForce)
	if got := printed(); got != want {
		t.Errorf("with the lines in force:\n%s\nwithout:\n%s", got, want)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}

	env, _, stderr = memoryEnv(vars, "config", "init", "--user")
	if code := Main(env); code != ExitFailure || !strings.Contains(stderr.String(), "exists already") {
		t.Errorf("a second time: exit %d, %s", code, stderr)
	}
}
