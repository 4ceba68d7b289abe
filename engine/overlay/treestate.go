package overlay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// stateFolder holds the state and the backups, inside the package.
const stateFolder = ".opprof-patch"

// treeState is the record of a patch applied in place: enough to tell every file's side and to go back. It is written
// before the first file changes and removed after the last one is restored.
type treeState struct {
	Schema    int         `json:"schema"`
	PatchHash string      `json:"patch_hash"`
	Version   string      `json:"vllm_version"`
	Files     []fileState `json:"files"`
}

// fileState is one changed file. Before is empty for a file that was not there. Link is the target where the original
// was a symbolic link, which the patched file replaces.
type fileState struct {
	Path       string `json:"path"`
	Before     string `json:"before_sha256,omitempty"`
	After      string `json:"after_sha256"`
	Backup     string `json:"backup,omitempty"`
	Link       string `json:"link,omitempty"`
	Mode       uint32 `json:"mode"`
	ModifiedNS int64  `json:"modified_ns,omitempty"`
}

func stateDir(s Site) string  { return filepath.Join(s.Package(), stateFolder) }
func statePath(s Site) string { return filepath.Join(stateDir(s), "state.json") }

// readTreeState reads the state, or reports false where there is none. Backups without a state are from a run that
// ended before it changed anything.
func readTreeState(s Site) (treeState, bool, error) {
	text, err := os.ReadFile(statePath(s))
	if errors.Is(err, fs.ErrNotExist) {
		return treeState{}, false, nil
	}
	if err != nil {
		return treeState{}, false, fmt.Errorf("cannot read the patch state: %w", err)
	}
	t, err := parseTreeState(text)
	if err != nil {
		return treeState{}, false, fmt.Errorf("cannot use the patch state %s: %w", statePath(s), err)
	}
	return t, true, nil
}

// parseTreeState refuses a state that could lead out of the tree.
func parseTreeState(text []byte) (treeState, error) {
	var t treeState
	if err := json.Unmarshal(text, &t); err != nil {
		return t, fmt.Errorf("%w; remove its folder and install vllm again", err)
	}
	if t.Schema != 1 {
		return t, fmt.Errorf("schema %d, want 1; use the OpProf that applied the patch", t.Schema)
	}
	for _, f := range t.Files {
		if !fs.ValidPath(f.Path) || f.Backup != "" && (!fs.ValidPath(f.Backup) || strings.Contains(f.Backup, "/")) {
			return t, fmt.Errorf("%q leaves the folder", f.Path+" "+f.Backup)
		}
	}
	return t, nil
}

// side says which text a file holds.
type side int

const (
	sideBefore side = iota
	sideAfter
	sideOther
)

// side reads a file and tells which text it holds, and the hash found ("none" for a missing file).
func (f fileState) side(s Site) (side, string, error) {
	found := "none"
	text, err := os.ReadFile(s.file(f.Path))
	if err == nil {
		found = sha256Hex(text)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return sideOther, "", fmt.Errorf("cannot read %s: %w", f.Path, err)
	}
	switch found {
	case f.After:
		return sideAfter, found, nil
	case f.Before:
		return sideBefore, found, nil
	case "none":
		if f.Before == "" {
			return sideBefore, found, nil
		}
	}
	return sideOther, found, nil
}

// compare tells what became of an applied patch. StateFits means that every file is the original again, as after a
// reinstallation: the state is then a leftover.
func (t treeState) compare(s Site, hash string) (State, []Problem, error) {
	problems := []Problem{}
	var count [3]int
	for _, f := range t.Files {
		side, found, err := f.side(s)
		if err != nil {
			return StateRefused, problems, err
		}
		count[side]++
		switch side {
		case sideBefore:
			problems = append(problems, Problem{
				File: f.Path, Want: "the patched file", Found: "the original",
				Fix: "finish with opprof patch apply, or go back with opprof patch revert",
			})
		case sideOther:
			problems = append(problems, Problem{
				File: f.Path, Want: "the original or the patched file", Found: "sha256 " + found + " (changed after the patch was applied)",
				Fix: "keep your change elsewhere, remove " + stateDir(s) + " and install vllm again",
			})
		}
	}
	switch {
	case count[sideOther] > 0:
		return StateRefused, problems, nil
	case count[sideAfter] == 0:
		return StateFits, []Problem{}, nil
	case t.PatchHash != hash:
		return StateOtherPatch, []Problem{{
			Want: "patch " + hash, Found: "patch " + t.PatchHash,
			Fix: "opprof patch apply replaces it, opprof patch revert removes it",
		}}, nil
	case count[sideBefore] > 0:
		return StateHalfApplied, problems, nil
	}
	return StateApplied, problems, nil
}

// readBackup reads the original of a file, and refuses one that is no longer it.
func (f fileState) readBackup(s Site) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(stateDir(s), f.Backup))
	if err != nil {
		return nil, fmt.Errorf("cannot read the backup of %s: %w; install vllm again", f.Path, err)
	}
	if sum := sha256Hex(text); sum != f.Before {
		return nil, fmt.Errorf("the backup of %s is damaged: sha256 %s, want %s; install vllm again", f.Path, sum, f.Before)
	}
	return text, nil
}
