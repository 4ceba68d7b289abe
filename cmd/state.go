package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"opprof/engine/regular"
	"opprof/engine/rundir"
	"opprof/tui"
)

// stateSchema is the version of the state file. A file of another one is not read.
const stateSchema = 1

type stateFile struct {
	Schema int `json:"schema"`
	tui.State
}

// loadState reads what was chosen on the screen the last time. A file that is not there is no choice; one that cannot be read is the error,
// and no choice.
func loadState(path string) (tui.State, error) {
	text, err := regular.Read(path, settingsMax)
	switch {
	case path == "" || errors.Is(err, fs.ErrNotExist):
		return tui.State{}, nil
	case err != nil:
		return tui.State{}, fmt.Errorf("cannot read screen state: %w", err)
	}
	var f stateFile
	if err := json.Unmarshal(text, &f); err != nil {
		return tui.State{}, fmt.Errorf("cannot read screen state: %s: %w", path, err)
	}
	if f.Schema != stateSchema {
		return tui.State{}, fmt.Errorf("cannot read screen state: %s: schema %d, want %d", path, f.Schema, stateSchema)
	}
	return f.State, nil
}

// saveState keeps what was chosen. A reader of the file sees the old choice or the new one.
func saveState(path string, s tui.State) error {
	if path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), rundir.DirMode); err != nil {
		return fmt.Errorf("cannot keep screen state: %w", err)
	}
	return rundir.WriteAtomic(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(stateFile{stateSchema, s})
	})
}

// statePath is where the state lies; "" where there is no place for it.
func (e *Env) statePath() string {
	path, err := e.places().ScreenState()
	if err != nil {
		return ""
	}
	return path
}

// prefer lets what was asked for by flag, variable or file win over what was chosen on the screen the last time.
func prefer(s tui.State, p *preferences, from origin) tui.State {
	if from["theme"] != fromDefault || from["color"] != fromDefault {
		s.Theme = ""
	}
	if from["density"] != fromDefault || s.Density == "" {
		s.Density = p.density
	}
	if from["mouse"] != fromDefault || s.Mouse == "" {
		s.Mouse = p.mouse
	}
	return s
}
