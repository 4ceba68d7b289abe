package overlay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// State says how an installation stands to a patch.
type State string

// The states of an installation.
const (
	// StateFits: every file is the one that the patch is for, and nothing of it is there.
	StateFits State = "fits"
	// StateApplied: the patch is in place, whole.
	StateApplied State = "applied"
	// StateHalfApplied: a run of apply or revert was cut short; either command finishes it.
	StateHalfApplied State = "half_applied"
	// StateOtherPatch: another version of the patch is in place, whole or in part; revert and apply both deal with it.
	StateOtherPatch State = "other_patch"
	// StateRefused: the installation does not fit; the problems say why.
	StateRefused State = "refused"
)

// Problem is one thing about an installation that keeps the patch from being used.
type Problem struct {
	// File is the path below the site, empty for a problem of the whole installation.
	File string `json:"file,omitempty"`
	// Edit and Anchor name the edit whose place was not found, where it is about one.
	Edit   string `json:"edit,omitempty"`
	Anchor string `json:"anchor,omitempty"`
	Want   string `json:"want"`
	Found  string `json:"found"`
	// Fix says what to do.
	Fix string `json:"fix"`
}

func (p Problem) Error() string {
	var b strings.Builder
	if p.File != "" {
		fmt.Fprintf(&b, "%s: ", p.File)
	}
	if p.Anchor != "" {
		fmt.Fprintf(&b, "edit %q, anchor %q: ", p.Edit, p.Anchor)
	}
	fmt.Fprintf(&b, "want %s, found %s; %s", p.Want, p.Found, p.Fix)
	return b.String()
}

// Report is the outcome of a check.
type Report struct {
	Schema int   `json:"schema"`
	State  State `json:"state"`
	// Site is the folder that holds the package, Version the version installed there, empty where unknown.
	Site    string `json:"site"`
	Version string `json:"version"`
	// PatchVersion and PatchHash are those of the patch compared with.
	PatchVersion string `json:"patch_version"`
	PatchHash    string `json:"patch_hash"`
	// Files are the files that the patch changes or adds, below Site.
	Files    []string  `json:"files"`
	Problems []Problem `json:"problems"`
}

// Err is nil where the state is one that a server can be run from, with an overlay or as it stands, and otherwise an
// error with every problem.
func (r Report) Err() error {
	switch r.State {
	case StateFits, StateApplied:
		return nil
	}
	return &RefusedError{Report: r}
}

// RefusedError says that an installation does not fit the patch.
type RefusedError struct{ Report Report }

func (e *RefusedError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap gives an error for each line of the text.
func (e *RefusedError) Unwrap() []error {
	lines := []error{fmt.Errorf("vllm in %s cannot be patched (%s)", e.Report.Site, e.Report.State)}
	for _, problem := range e.Report.Problems {
		lines = append(lines, fmt.Errorf("  %w", problem))
	}
	return lines
}

const reinstallFix = "install the vllm release again, or use the OpProf release for this version"

func anchorProblem(path string, e edit, found int) Problem {
	return Problem{
		File: path, Edit: e.Name, Anchor: e.Anchor,
		Want: "the anchor exactly once", Found: fmt.Sprintf("%d times", found), Fix: reinstallFix,
	}
}

// Check compares an installation with the patch: the public version, the hash of each edited file, each anchor, and
// what an earlier apply left. Everything that does not fit is in the report; the error is for files that cannot be
// read.
func (p *Patch) Check(s Site) (Report, error) {
	r, _, err := p.examine(s)
	return r, err
}

// examine is Check with the changes that the patch would make, which are complete in [StateFits] alone.
func (p *Patch) examine(s Site) (Report, []change, error) {
	r := Report{
		Schema: 1, State: StateRefused, Site: s.Dir, Version: s.Version, PatchVersion: p.version, PatchHash: p.hash,
		Files: p.targets(s), Problems: []Problem{},
	}
	t, found, err := readTreeState(s)
	if err != nil {
		return r, nil, err
	}
	if found {
		r.State, r.Problems, err = t.compare(s, p.hash)
		if err != nil || r.State != StateFits {
			return r, nil, err
		}
	}
	changes, problems, err := p.plan(s)
	r.Problems = problems
	r.State = StateFits
	if len(problems) > 0 || err != nil {
		r.State = StateRefused
	}
	return r, changes, err
}

// targets are the files that the patch writes, edited ones first.
func (p *Patch) targets(s Site) []string {
	var paths []string
	for _, f := range p.files {
		paths = append(paths, f.Path)
	}
	paths = append(paths, recorderTarget)
	if s.Source {
		paths = append(paths, testTarget)
	}
	return paths
}

// change is one file of an installation before and after the patch. A new file has no text before.
type change struct {
	path   string
	isNew  bool
	before []byte
	places []insertion
	after  []byte
}

// plan reads the installation and works out every change, or every problem that stands against it.
func (p *Patch) plan(s Site) ([]change, []Problem, error) {
	var changes []change
	problems := p.versionProblems(s)
	for _, f := range p.files {
		c, faults, err := f.plan(s)
		if err != nil {
			return nil, problems, err
		}
		problems = append(problems, faults...)
		changes = append(changes, c)
	}
	added := []change{{path: recorderTarget, isNew: true, after: p.recorder}}
	if s.Source {
		added = append(added, change{path: testTarget, isNew: true, after: p.test})
	}
	for _, c := range added {
		_, err := os.Lstat(s.file(c.path))
		if err == nil {
			problems = append(problems, Problem{
				File: c.path, Want: "no such file", Found: "a file that no applied patch accounts for",
				Fix: "remove it if it is a leftover of OpProf, else " + reinstallFix,
			})
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, problems, fmt.Errorf("cannot look at %s: %w", c.path, err)
		}
		changes = append(changes, c)
	}
	return changes, problems, nil
}

func (f editedFile) plan(s Site) (change, []Problem, error) {
	c := change{path: f.Path}
	text, err := os.ReadFile(s.file(f.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return c, []Problem{{File: f.Path, Want: "the file", Found: "none", Fix: reinstallFix}}, nil
	}
	if err != nil {
		return c, nil, fmt.Errorf("cannot read %s: %w", f.Path, err)
	}
	c.before = text
	var problems []Problem
	if sum := sha256Hex(text); sum != f.SHA256 {
		problems = append(problems, Problem{
			File: f.Path, Want: "sha256 " + f.SHA256, Found: sum + " (the file was changed)", Fix: reinstallFix,
		})
	}
	var faults []Problem
	c.places, faults = f.locate(text)
	c.after = insert(text, c.places)
	return c, append(problems, faults...), nil
}

func (p *Patch) versionProblems(s Site) []Problem {
	found := s.PublicVersion()
	if found == p.version || found == "" && s.Source {
		return []Problem{}
	}
	if found == "" {
		found = "no version"
	}
	return []Problem{{Want: "vllm " + p.version, Found: found, Fix: "install vllm==" + p.version + ", or use the OpProf release for this version"}}
}
