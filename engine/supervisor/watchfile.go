package supervisor

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"golang.org/x/sys/unix"

	"opprof/engine/regular"
	"opprof/engine/rundir"
)

// WatchName is the file that makes a folder the home of a watch over somebody else's server.
const WatchName = "watch.json"

// watchSchema is the version of that file; watchMax bounds its bytes.
const (
	watchSchema = 1
	watchMax    = 64 << 10
)

// Watch says what a watch is over. It lies in the folder of its journal, so that a supervisor that was killed can be replaced.
type Watch struct {
	Schema int    `json:"schema"`
	Addr   string `json:"addr"`   // as vllm.Address prints it
	Run    string `json:"run"`    // the folder of the server's records, absolute
	Traces string `json:"traces"` // the folder where its traces are looked for, absolute
}

// ReadWatch reads what a folder is the home of. One that is the home of none gives an error that is fs.ErrNotExist.
func ReadWatch(home string) (Watch, error) {
	path := filepath.Join(home, WatchName)
	text, err := regular.Read(path, watchMax)
	if err != nil {
		return Watch{}, fmt.Errorf("cannot read what is watched: %w", err)
	}
	var w Watch
	if err := json.Unmarshal(text, &w); err != nil {
		return Watch{}, fmt.Errorf("cannot read what is watched: %s: %w", path, err)
	}
	if w.Schema != watchSchema || w.Addr == "" || w.Run == "" || w.Traces == "" {
		return Watch{}, fmt.Errorf("cannot read what is watched: %s: expected schema %d with addr, run and traces; remove it and attach with --url again", path, watchSchema)
	}
	return w, nil
}

// Write makes a folder the home of a watch.
func (w Watch) Write(home string) error {
	w.Schema = watchSchema
	err := rundir.WriteAtomic(filepath.Join(home, WatchName), func(out io.Writer) error {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(w)
	})
	if err != nil {
		return fmt.Errorf("cannot write what is watched: %w", err)
	}
	return nil
}

// Writable reports whether files can be made in a folder.
func Writable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }
