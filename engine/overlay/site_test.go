package overlay

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestVersionOfASite(t *testing.T) {
	for name, c := range map[string]struct {
		metadata, version string
		want, public      string
	}{
		"metadata wins":      {"Name: vllm\nVersion: 0.24.0+cpu\n", "version = '0.23.0'\n", "0.24.0+cpu", "0.24.0"},
		"CRLF metadata":      {"Name: vllm\r\nVersion: 0.24.0\r\n", "", "0.24.0", "0.24.0"},
		"file alone":         {"", "__version__ = version = '0.24.0+cu129'\n", "0.24.0+cu129", "0.24.0"},
		"older file form":    {"", "version = \"0.24.0\"\n", "0.24.0", "0.24.0"},
		"release candidate":  {"Version: 0.24.0rc1\n", "", "0.24.0rc1", "0.24.0rc1"},
		"development":        {"Version: 0.24.1.dev7+gabc\n", "", "0.24.1.dev7+gabc", "0.24.1.dev7"},
		"nothing anywhere":   {"", "", "", ""},
		"annotation is none": {"", "version: str\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeTree(t, dir, map[string]string{"vllm/__init__.py": "", "vllm/_version.py": c.version})
			if c.metadata != "" {
				writeTree(t, dir, map[string]string{"vllm-0.24.0.dist-info/METADATA": c.metadata})
			}
			s := openSite(t, dir)
			if s.Version != c.want || s.PublicVersion() != c.public {
				t.Errorf("version %q, public %q; want %q, %q", s.Version, s.PublicVersion(), c.want, c.public)
			}
		})
	}
}

func TestOpenSiteWithoutVLLM(t *testing.T) {
	_, err := OpenSite(t.TempDir())
	assertErr(t, err, "no vllm package")
	dir := t.TempDir()
	writeTree(t, dir, map[string]string{"vllm/readme": ""})
	_, err = OpenSite(dir)
	assertErr(t, err, "no vllm package", "__init__.py")
}

func TestOpenSiteResolvesLinks(t *testing.T) {
	s := newSite(t)
	links := t.TempDir()
	if err := os.Symlink(s.Dir, filepath.Join(links, "site")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(s.Package(), filepath.Join(links, "vllm")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(links, "site"), links} {
		if got := openSite(t, dir); got.Dir != s.Dir {
			t.Errorf("%s is %s, want %s", dir, got.Dir, s.Dir)
		}
	}
}

func TestOpenSource(t *testing.T) {
	s := newSite(t)
	_, err := OpenSource(s.Dir)
	assertErr(t, err, "not a vLLM source checkout")
	writeTree(t, s.Dir, map[string]string{"tests/v1/core/__init__.py": ""})
	got, err := OpenSource(s.Dir)
	if err != nil || !got.Source || got.Version != "0.24.0" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// interpreter writes a program that stands for Python: it prints the text and exits with the code given.
func interpreter(t *testing.T, script string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestFindPython(t *testing.T) {
	s := newSite(t)
	answer := `{"package": "` + s.Package() + `", "version": "0.24.0"}`
	for name, c := range map[string]struct {
		script string
		want   string // of the error; empty for success
	}{
		"answers":               {"echo '" + answer + "'", ""},
		"start-up files print":  {"echo hello; echo '" + answer + "'", ""},
		"no vllm":               {`echo '{"package": "", "version": ""}'`, "no vllm installed: name another interpreter, as python in [server]"},
		"fails":                 {"echo Traceback >&2; echo 'no module named json' >&2; exit 1", "exit status 1: no module named json"},
		"answers nothing":       {"true", "cannot read the answer"},
		"answers another thing": {"echo vllm", "cannot read the answer"},
		"package is elsewhere":  {`echo '{"package": "/nowhere/vllm", "version": ""}'`, "no vllm package in /nowhere"},
		"package is not vllm":   {`echo '{"package": "/nowhere/vllm_fork", "version": ""}'`, "not a folder called vllm"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := FindPython(t.Context(), interpreter(t, c.script))
			if c.want != "" {
				assertErr(t, err, c.want)
			} else if err != nil || got.Dir != s.Dir || got.Version != "0.24.0+cpu" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	_, err := FindPython(t.Context(), "/nowhere/python")
	assertErr(t, err, "cannot find the interpreter /nowhere/python")
}

// A folder called vllm in the working folder is not the installation.
func TestFindPythonRunsElsewhere(t *testing.T) {
	s := newSite(t)
	t.Chdir(t.TempDir())
	script := `[ "$PWD" = / ] && echo '{"package": "` + s.Package() + `", "version": ""}'`
	if _, err := FindPython(t.Context(), interpreter(t, script)); err != nil {
		t.Error(err)
	}
}

func TestFindPythonEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := filepath.Join(t.TempDir(), "began")
	if err := unix.Mkfifo(began, 0o600); err != nil {
		t.Fatal(err)
	}
	python := interpreter(t, "echo > "+began+"; exec sleep 600")
	done := make(chan error, 1)
	go func() {
		_, err := FindPython(ctx, python)
		done <- err
	}()
	if _, err := os.ReadFile(began); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("got %v", err)
	}
}
