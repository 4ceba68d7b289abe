package overlay

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// findTimeout bounds the question to an interpreter: it imports nothing, but a cold network disk can take seconds.
const findTimeout = 30 * time.Second

// Site is a folder that holds a vLLM package: site-packages, or a source checkout.
type Site struct {
	// Dir is the folder that holds vllm/, with symbolic links resolved.
	Dir string
	// Version is the installed version as its metadata has it, "0.24.0+cpu" for example. It is empty for a source
	// checkout that was never built.
	Version string
	// Source says that Dir is a source checkout, where the patch also adds its test.
	Source bool
}

// Package is the folder of the vllm package.
func (s Site) Package() string { return filepath.Join(s.Dir, "vllm") }

// PublicVersion is the version without a local part: builds for other devices differ in that part alone, as in
// "0.24.0+cpu".
func (s Site) PublicVersion() string {
	public, _, _ := strings.Cut(s.Version, "+")
	return public
}

func (s Site) file(path string) string { return filepath.Join(s.Dir, filepath.FromSlash(path)) }

//go:embed find_vllm.py
var findScript string

// FindPython asks an interpreter where it would import vllm from and which version that is, without importing it.
// It runs in the root folder, so that a folder called vllm in the current one is not taken for the installation.
func FindPython(ctx context.Context, python string) (Site, error) {
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	python, err := absoluteCommand(python)
	if err != nil {
		return Site{}, err
	}
	cmd := exec.CommandContext(ctx, python, "-c", findScript)
	cmd.Dir = "/"
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return Site{}, fmt.Errorf("cannot ask %s for vllm: %w%s", python, err, lastLine(stderr.String()))
	}
	var answer struct {
		Package string `json:"package"`
		Version string `json:"version"`
	}
	// An interpreter's start-up files may print too: the answer is the last line.
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &answer); err != nil {
		return Site{}, fmt.Errorf("cannot read the answer of %s: %w", python, err)
	}
	if answer.Package == "" {
		return Site{}, fmt.Errorf("%s has no vllm installed: name another interpreter, as python in [server] of the configuration or with --python", python)
	}
	if filepath.Base(answer.Package) != "vllm" {
		return Site{}, fmt.Errorf("%s imports vllm from %s, which is not a folder called vllm", python, answer.Package)
	}
	s, err := OpenSite(filepath.Dir(answer.Package))
	if err == nil && s.Version == "" {
		s.Version = answer.Version
	}
	return s, err
}

// absoluteCommand makes a command independent of the working folder that it will run in.
func absoluteCommand(python string) (string, error) {
	found, err := exec.LookPath(python)
	if err != nil {
		return "", fmt.Errorf("cannot find the interpreter %s: %w", python, errors.Unwrap(err))
	}
	return filepath.Abs(found)
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	return ": " + text[strings.LastIndexByte(text, '\n')+1:]
}

// OpenSite opens a folder that holds an installed vllm package. The folder of an overlay stands for the installation
// that it was built from.
func OpenSite(dir string) (Site, error) {
	resolved, err := resolvePackage(dir)
	if err != nil {
		return Site{}, err
	}
	if m, ok := readMarker(resolved); ok && m.Site != resolved {
		return OpenSite(m.Site)
	}
	s := Site{Dir: resolved}
	s.Version, err = installedVersion(resolved)
	return s, err
}

// OpenSource opens a source checkout: the folder with vllm/ and tests/v1/core/.
func OpenSource(dir string) (Site, error) {
	resolved, err := resolvePackage(dir)
	if err != nil {
		return Site{}, err
	}
	s := Site{Dir: resolved, Source: true}
	if _, err := os.Stat(filepath.Dir(s.file(testTarget))); err != nil {
		return Site{}, fmt.Errorf("%s is not a vLLM source checkout: %w", dir, err)
	}
	s.Version, err = writtenVersion(resolved)
	return s, err
}

// resolvePackage resolves the folder through its package: where vllm itself is a link, the files lie elsewhere.
func resolvePackage(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	pkg, err := filepath.EvalSymlinks(filepath.Join(abs, "vllm"))
	if err != nil {
		return "", fmt.Errorf("no vllm package in %s: %w; name the folder that holds vllm/, such as site-packages", dir, err)
	}
	if _, err := os.Stat(filepath.Join(pkg, "__init__.py")); err != nil {
		return "", fmt.Errorf("no vllm package in %s: %w", dir, err)
	}
	if filepath.Base(pkg) == "vllm" {
		return filepath.Dir(pkg), nil
	}
	return filepath.EvalSymlinks(abs)
}

// metadataVersion is the version line of a distribution's METADATA.
var metadataVersion = regexp.MustCompile(`(?m)^Version:[ \t]*(\S+)[ \t]*\r?$`)

// versionLine is the line of vllm/_version.py that its build tool writes.
var versionLine = regexp.MustCompile(`(?m)^(?:__version__ = )?version = ['"]([^'"\s]+)['"]`)

// installedVersion takes the version of the distribution called vllm, else the one in the package itself: a build for
// another device may be called otherwise.
func installedVersion(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("cannot read the vllm version: %w", err)
	}
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasPrefix(name, "vllm-") || !strings.HasSuffix(name, ".dist-info") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name(), "METADATA"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("cannot read the vllm version: %w", err)
		}
		if version := firstGroup(metadataVersion, text); version != "" {
			return version, nil
		}
	}
	return writtenVersion(dir)
}

func writtenVersion(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "vllm", "_version.py"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the vllm version: %w", err)
	}
	return firstGroup(versionLine, text), nil
}

func firstGroup(pattern *regexp.Regexp, text []byte) string {
	if m := pattern.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}
