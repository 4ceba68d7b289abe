package overlay

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

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
	for _, place := range wholeLines(before, places) {
		edits = append(edits, udiff.Edit{Start: place.offset, End: place.offset, New: place.text})
	}
	text, err := udiff.ToUnified("a/"+path, "b/"+path, string(before), edits, diffContext)
	if err != nil {
		return "", fmt.Errorf("cannot compare %s: %w", path, err)
	}
	return text, nil
}

// wholeLines moves insertions in mid-line to a line's start where that makes the same text, as "\nB" after "A" is "B\n"
// after "A\n". The diff then shows lines added, instead of lines replaced by themselves.
func wholeLines(text []byte, places []insertion) []insertion {
	moved := make([]insertion, len(places))
	for i, place := range places {
		moved[i] = place.toLineStart(text)
	}
	if !slices.IsSortedFunc(moved, byOffset) || !bytes.Equal(insert(text, moved), insert(text, places)) {
		return places
	}
	return moved
}

// toLineStart slides an insertion along the text: over a byte that equals its own first or last one it may move.
func (p insertion) toLineStart(text []byte) insertion {
	whole := func(q insertion) bool {
		return strings.HasSuffix(q.text, "\n") && (q.offset == 0 || text[q.offset-1] == '\n')
	}
	for q := p; ; q = (insertion{q.offset + 1, q.text[1:] + q.text[:1]}) {
		if whole(q) {
			return q
		}
		if q.offset == len(text) || text[q.offset] != q.text[0] {
			break
		}
	}
	for q := p; ; {
		if whole(q) {
			return q
		}
		last := len(q.text) - 1
		if q.offset == 0 || text[q.offset-1] != q.text[last] {
			return p
		}
		q = insertion{q.offset - 1, q.text[last:] + q.text[:last]}
	}
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
