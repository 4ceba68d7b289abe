package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"opprof/campaign/plan"
	"opprof/engine/journal"
	"opprof/engine/regular"
	"opprof/engine/rundir"
)

// Names in a campaign's folder.
const (
	SourceName = "campaign.toml" // the file that the campaign was declared with, byte for byte
	PlanName   = "plan.json"     // what was made of it
	RunsName   = "runs"
	LogName    = "runner.log" // what the runner has to say beside its journal
)

// planSchema is the version of plan.json.
const planSchema = 1

// planFile is plan.json: the runs that were declared, and what the file's words meant where the campaign was begun.
type planFile struct {
	Schema int         `json:"schema"`
	Name   string      `json:"name"`
	Source string      `json:"campaign_sha256"` // of campaign.toml
	Server place       `json:"server"`
	Loads  []placeLoad `json:"loads"`
	Needs  plan.Needs  `json:"needs"`
	Runs   []planRun   `json:"runs"` // without those of a second look
}

// place is what of the server depends on where a campaign is begun.
type place struct {
	Model  string   `json:"model"`
	Python string   `json:"python"`
	Args   []string `json:"args"`
}

// placeLoad is what of a load does.
type placeLoad struct {
	Args    []string `json:"args"`
	Command []string `json:"command"`
}

func placeLoads(p *plan.Plan) []placeLoad {
	out := make([]placeLoad, len(p.Loads))
	for i, l := range p.Loads {
		out[i] = placeLoad{append([]string{}, l.Args...), append([]string{}, l.Command...)}
	}
	return out
}

type planRun struct {
	ID    string    `json:"id"`
	Cell  string    `json:"cell"`
	Kind  plan.Kind `json:"kind"`
	Arm   string    `json:"arm"`
	Pair  int       `json:"pair"`
	Order string    `json:"order"`
}

func planRuns(p *plan.Plan) []planRun {
	var out []planRun
	for _, r := range p.Runs(false) {
		out = append(out, planRun{r.ID(), r.Cell.String(), r.Kind, r.Arm, r.Pair, r.Order})
	}
	return out
}

// Create makes the folder of a campaign: the copy of its file, the plan, and a journal with its first event. The folder must be new or
// empty. source is the text that p was read from; p's paths are absolute.
func Create(dir string, source []byte, p *plan.Plan, clock journal.Clock) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("cannot make campaign folder: %s is not empty", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot make campaign folder: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, RunsName), rundir.DirMode); err != nil {
		return fmt.Errorf("cannot make campaign folder: %w", err)
	}
	if err := rundir.WriteAtomic(filepath.Join(dir, SourceName), func(w io.Writer) error { _, err := w.Write(source); return err }); err != nil {
		return err
	}
	file := planFile{Schema: planSchema, Name: p.Name, Source: digest(source), Needs: p.Needs(), Runs: planRuns(p), Loads: placeLoads(p),
		Server: place{p.Server.Model, p.Server.Python, append([]string{}, p.Server.Args...)}}
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot write plan: %w", err)
	}
	text = append(text, '\n')
	if err := rundir.WriteAtomic(filepath.Join(dir, PlanName), func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return err
	}
	j, _, err := journal.Open(filepath.Join(dir, rundir.JournalName), clock)
	if err != nil {
		return err
	}
	_, err = j.Append(eventCreated, createdEvent{Name: p.Name, Plan: digest(text)})
	return errors.Join(err, j.Close())
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// fileMax bounds the bytes that are read of campaign.toml and plan.json.
const fileMax = 16 << 20

// Is reports whether a folder is a campaign's.
func Is(dir string) bool {
	for _, name := range []string{SourceName, PlanName, rundir.JournalName} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || !st.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// Lacking says what a folder that was a campaign's has not any more, or why that cannot be told; nil for one that never was.
func Lacking(dir string) error {
	var found, missing []string
	for _, name := range []string{SourceName, PlanName, rundir.JournalName} {
		st, err := os.Stat(filepath.Join(dir, name))
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("cannot open campaign: %w", err)
		case err != nil || !st.Mode().IsRegular():
			missing = append(missing, name)
		case name != rundir.JournalName: // any run has one
			found = append(found, name)
		}
	}
	if len(found) == 0 || len(missing) == 0 || !slices.Contains(found, PlanName) && slices.Contains(missing, rundir.JournalName) {
		return nil
	}
	return fmt.Errorf("cannot open campaign: %s has no file %s any more: put it back, nothing is decided without it", dir, strings.Join(missing, ", "))
}

// readPlan reads what was declared, and refuses what was changed since: the number of pairs, the limit and the loads are fixed before the
// first run. want is the digest that the journal has of plan.json.
func readPlan(dir, want string) (*plan.Plan, error) {
	path := filepath.Join(dir, PlanName)
	text, err := regular.Read(path, fileMax)
	if err != nil {
		return nil, fmt.Errorf("cannot read plan: %w", err)
	}
	if got := digest(text); got != want {
		return nil, fmt.Errorf("cannot go on: %s was changed after the campaign began: put it back, or begin a new campaign", path)
	}
	var file planFile
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("cannot read plan: %s: %w", path, err)
	}
	if file.Schema != planSchema {
		return nil, fmt.Errorf("cannot read plan: %s has schema %d, this program knows %d: use the opprof that began the campaign", path, file.Schema, planSchema)
	}
	from := filepath.Join(dir, SourceName)
	source, err := regular.Read(from, fileMax)
	if err != nil {
		return nil, fmt.Errorf("cannot read plan: %w", err)
	}
	if digest(source) != file.Source {
		return nil, fmt.Errorf("cannot go on: %s was changed after the campaign began: put it back, or begin a new campaign", from)
	}
	p, err := plan.Parse(from, string(source))
	if err != nil {
		return nil, err
	}
	p.Name = file.Name
	p.Server.Model, p.Server.Python, p.Server.Args = file.Server.Model, file.Server.Python, file.Server.Args
	// A plan without loads was written before they were kept: the file's own words stand.
	if !slices.Equal(planRuns(p), file.Runs) || file.Loads != nil && len(p.Loads) != len(file.Loads) {
		return nil, fmt.Errorf("cannot go on: this opprof makes other runs of %s than %s lists: use the opprof that began the campaign", from, path)
	}
	for i, l := range file.Loads {
		p.Loads[i].Args, p.Loads[i].Command = l.Args, l.Command
	}
	return p, nil
}
