package overlay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/BurntSushi/toml"
)

// Where the files of a patch lie in its own tree and where they go, relative to the folder that holds the package.
const (
	editsFile      = "edits.toml"
	recorderFile   = "python/opprof.py"
	recorderTarget = "vllm/v1/opprof.py"
	testFile       = "python/test_opprof.py"
	testTarget     = "tests/v1/core/test_opprof.py"
)

// hashLine is the line of the recorder that receives the patch hash when the file is written.
const hashLine = `PATCH_HASH = ""`

// Patch is a parsed set of edits for one vLLM version and the new files that go with them. It is immutable.
type Patch struct {
	version  string
	files    []editedFile
	recorder []byte
	test     []byte
	hash     string
}

// editedFile is one installed file with the insertions it receives.
type editedFile struct {
	Path   string `toml:"path"`
	SHA256 string `toml:"sha256"`
	Edits  []edit `toml:"edit"`
}

// edit inserts Text on one side of the only occurrence of Anchor.
type edit struct {
	Name   string `toml:"name"`
	Anchor string `toml:"anchor"`
	Where  string `toml:"where"`
	Text   string `toml:"text"`
}

// NewPatch reads a patch from a tree with edits.toml and python/. The file is read strictly: an unknown key, a path
// that leaves the tree or a malformed hash is an error.
func NewPatch(tree fs.FS) (*Patch, error) {
	edits, err := fs.ReadFile(tree, editsFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the patch: %w", err)
	}
	recorder, err := fs.ReadFile(tree, recorderFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the patch: %w", err)
	}
	test, err := fs.ReadFile(tree, testFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the patch: %w", err)
	}
	p := &Patch{recorder: recorder, test: test}
	if err := p.parse(edits); err != nil {
		return nil, err
	}
	p.hash = hashOf(edits, recorder)
	p.recorder, err = stampHash(recorder, p.hash)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Hash is the patch hash, 64 hexadecimal digits over the edits and the recorder. The test file is left out: it is not
// installed beside a server, and a change of it must not move the overlay.
func (p *Patch) Hash() string { return p.hash }

func (p *Patch) parse(text []byte) error {
	var doc struct {
		Version string       `toml:"vllm_version"`
		Files   []editedFile `toml:"file"`
	}
	meta, err := toml.Decode(string(text), &doc)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", editsFile, err)
	}
	var problems []error
	for _, key := range meta.Undecoded() {
		problems = append(problems, fmt.Errorf("%s: unknown key %s", editsFile, key))
	}
	if doc.Version == "" {
		problems = append(problems, fmt.Errorf("%s: vllm_version is missing", editsFile))
	}
	if len(doc.Files) == 0 {
		problems = append(problems, fmt.Errorf("%s: no file is edited", editsFile))
	}
	seen := map[string]bool{recorderTarget: true, testTarget: true}
	for _, f := range doc.Files {
		if seen[f.Path] {
			problems = append(problems, fmt.Errorf("%s: %s is named twice", editsFile, f.Path))
		}
		seen[f.Path] = true
		problems = append(problems, f.validate()...)
	}
	p.version, p.files = doc.Version, doc.Files
	return errors.Join(problems...)
}

func (f editedFile) validate() []error {
	var problems []error
	wrong := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: %s: %s", editsFile, f.Path, fmt.Sprintf(format, args...)))
	}
	if !fs.ValidPath(f.Path) || !strings.HasPrefix(f.Path, "vllm/") || path.Clean(f.Path) != f.Path {
		wrong("the path must be a clean one below vllm/")
	}
	if raw, err := hex.DecodeString(f.SHA256); err != nil || len(raw) != sha256.Size {
		wrong("sha256 must have 64 hexadecimal digits")
	}
	if len(f.Edits) == 0 {
		wrong("no edit")
	}
	for _, e := range f.Edits {
		if e.Anchor == "" || e.Text == "" {
			wrong("edit %q: anchor and text must not be empty", e.Name)
		}
		if e.Where != "before" && e.Where != "after" {
			wrong("edit %q: where is %q, not \"before\" or \"after\"", e.Name, e.Where)
		}
	}
	return problems
}

// stampHash writes the patch hash into the recorder, which puts it into the header of each Layer-1 file.
func stampHash(recorder []byte, hash string) ([]byte, error) {
	lines := bytes.Split(recorder, []byte("\n"))
	found := 0
	for i, line := range lines {
		if string(line) == hashLine {
			found++
			lines[i] = fmt.Appendf(nil, "PATCH_HASH = %q", hash)
		}
	}
	if found != 1 {
		return nil, fmt.Errorf("%s: found %d lines %s, want exactly one", recorderFile, found, hashLine)
	}
	return bytes.Join(lines, []byte("\n")), nil
}

// hashOf hashes texts with their lengths, so that no two lists of texts share a hash by moving a boundary.
func hashOf(texts ...[]byte) string {
	sum := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(sum, "%d\n", len(text))
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func sha256Hex(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
