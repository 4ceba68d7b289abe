package rundir

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Modes of what OpProf creates: for the owner only.
const (
	DirMode  os.FileMode = 0o700
	FileMode os.FileMode = 0o600
)

// socketPathMax is the longest path of a Unix socket on Linux (sun_path without its final NUL).
const socketPathMax = 107

// Places says where OpProf keeps things. Env looks up one environment variable and gives "" for an unset one; UID is the user's number.
type Places struct {
	Env func(name string) string
	UID int
}

// Runs is the folder that holds the runs: $OPPROF_RUNS, else $XDG_STATE_HOME/opprof/runs.
func (p Places) Runs() (string, error) {
	if root := p.Env("OPPROF_RUNS"); root != "" {
		return filepath.Clean(root), nil
	}
	state, err := p.xdg("XDG_STATE_HOME", ".local/state")
	if err != nil {
		return "", fmt.Errorf("cannot place runs: %w; set OPPROF_RUNS to a folder", err)
	}
	return filepath.Join(state, "opprof", "runs"), nil
}

// Socket is the supervisor's socket of a run: $XDG_RUNTIME_DIR/opprof/<id>.sock, else /tmp/opprof-<uid>/<id>.sock where that variable is
// unset, relative, or too long for a socket's path.
func (p Places) Socket(id string) (string, error) {
	if err := checkID(id); err != nil {
		return "", err
	}
	name := id + ".sock"
	if dir := p.Env("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		if path := filepath.Join(dir, "opprof", name); len(path) <= socketPathMax {
			return path, nil
		}
	}
	path := filepath.Join(fmt.Sprintf("/tmp/opprof-%d", p.UID), name)
	if len(path) > socketPathMax {
		return "", fmt.Errorf("cannot place socket: %s is longer than the %d bytes that a socket's path may have; use a shorter run id", path, socketPathMax)
	}
	return path, nil
}

// Overlay is the package folder put first on PYTHONPATH for a vLLM version, patch and site. It is the same for every run: vLLM's compile
// cache hashes the path of every traced file (vllm/compilation/backends.py), so a moving overlay would compile cold each time.
func (p Places) Overlay(version, patchHash, siteHash string) (string, error) {
	cache, err := p.xdg("XDG_CACHE_HOME", ".cache")
	if err != nil {
		return "", fmt.Errorf("cannot place overlay: %w", err)
	}
	return filepath.Join(cache, "opprof", "overlay", version+"-"+patchHash+"-"+siteHash), nil
}

// IndexCache is the folder for indexes of streams whose own folder is not writable.
func (p Places) IndexCache() (string, error) {
	cache, err := p.xdg("XDG_CACHE_HOME", ".cache")
	if err != nil {
		return "", fmt.Errorf("cannot place index: %w", err)
	}
	return filepath.Join(cache, "opprof", "index"), nil
}

// Preferences is the user's configuration file.
func (p Places) Preferences() (string, error) {
	config, err := p.xdg("XDG_CONFIG_HOME", ".config")
	if err != nil {
		return "", fmt.Errorf("cannot place preferences: %w", err)
	}
	return filepath.Join(config, "opprof", "config.toml"), nil
}

// ScreenState is the file that keeps what a reader chose on the screen: $XDG_STATE_HOME/opprof/state.json.
func (p Places) ScreenState() (string, error) { return p.stateFile("screen state", "state.json") }

// Log is the program's own log: $XDG_STATE_HOME/opprof/opprof.log.
func (p Places) Log() (string, error) { return p.stateFile("log", "opprof.log") }

// Notes is the folder of the notes about runs whose own folder is not writable: $XDG_STATE_HOME/opprof/notes.
func (p Places) Notes() (string, error) { return p.stateFile("notes", "notes") }

func (p Places) stateFile(what, name string) (string, error) {
	state, err := p.xdg("XDG_STATE_HOME", ".local/state")
	if err != nil {
		return "", fmt.Errorf("cannot place %s: %w", what, err)
	}
	return filepath.Join(state, "opprof", name), nil
}

// xdg is a base folder by the XDG specification, which says that a relative value is to be ignored.
func (p Places) xdg(name, underHome string) (string, error) {
	if dir := p.Env(name); filepath.IsAbs(dir) {
		return filepath.Clean(dir), nil
	}
	home := p.Env("HOME")
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("neither %s nor HOME names an absolute folder", name)
	}
	return filepath.Join(home, underHome), nil
}

// NewID makes a run's id: <date>-<model>-tp<n>-<4 hex>. Only letters, digits, dot, dash and underscore of the model's last path part
// are kept, so that the id is a file name everywhere.
func NewID(now time.Time, model string, tensorParallel int) string {
	keep := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return -1
	}
	name := strings.Trim(strings.Map(keep, filepath.Base(model)), ".-")
	name = name[:min(len(name), 48)]
	if name == "" {
		name = "model"
	}
	var tail [2]byte
	rand.Read(tail[:]) // never fails: crypto/rand ends the program instead
	return fmt.Sprintf("%s-%s-tp%d-%s", now.Format("20060102"), name, tensorParallel, hex.EncodeToString(tail[:]))
}

func checkID(id string) error {
	if id == "" || id == "." || id == ".." || strings.ContainsAny(id, "/\x00") {
		return fmt.Errorf("run id %q is not a file name; take the name of the run's folder", id)
	}
	return nil
}
