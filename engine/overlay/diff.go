package overlay

import (
	"fmt"
	"io"
	"os"
	"slices"

	udiff "github.com/aymanbagabas/go-udiff"
)

// diffContext is the number of unchanged lines around a hunk, as patch programs expect.
const diffContext = 3

// Diff writes what the patch changes in an installation, as a unified diff against the originals, whether it is
// applied there or not. An installation that the patch does not fit is an error.
func (p *Patch) Diff(w io.Writer, s Site) error {
	r, err := p.Check(s)
	if err != nil {
		return err
	}
	if r.State == StateRefused {
		return r.Err()
	}
	applied, _, err := readTreeState(s)
	if err != nil {
		return err
	}
	for _, path := range p.targets(s) {
		text, err := p.diffFile(s, applied, path)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}

func (p *Patch) diffFile(s Site, applied treeState, path string) (string, error) {
	switch path {
	case recorderTarget:
		return udiff.Unified("/dev/null", "b/"+path, "", string(p.recorder)), nil
	case testTarget:
		return udiff.Unified("/dev/null", "b/"+path, "", string(p.test)), nil
	}
	before, err := readOriginal(s, applied, path)
	if err != nil {
		return "", err
	}
	f := p.files[slices.IndexFunc(p.files, func(f editedFile) bool { return f.Path == path })]
	places, problems := f.locate(before)
	if len(problems) > 0 {
		return "", problems[0]
	}
	var edits []udiff.Edit
	for _, place := range places {
		edits = append(edits, udiff.Edit{Start: place.offset, End: place.offset, New: place.text})
	}
	text, err := udiff.ToUnified("a/"+path, "b/"+path, string(before), edits, diffContext)
	if err != nil {
		return "", fmt.Errorf("cannot compare %s: %w", path, err)
	}
	return text, nil
}

// readOriginal reads the unpatched text: from the file, or from the backup where a patch is in place.
func readOriginal(s Site, applied treeState, path string) ([]byte, error) {
	i := slices.IndexFunc(applied.Files, func(f fileState) bool { return f.Path == path })
	if i >= 0 {
		f := applied.Files[i]
		if side, _, err := f.side(s); err != nil {
			return nil, err
		} else if side == sideAfter {
			return f.readBackup(s)
		}
	}
	text, err := os.ReadFile(s.file(path))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return text, nil
}
