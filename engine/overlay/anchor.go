package overlay

import (
	"bytes"
	"slices"
)

// insertion is an edit with its place in an unpatched file, a byte offset.
type insertion struct {
	offset int
	text   string
}

// locate finds the place of every edit in the unpatched text, in order of offset (of equal offsets, in order of the
// patch). An anchor that does not occur exactly once is a problem; all of them are reported.
func (f editedFile) locate(text []byte) ([]insertion, []Problem) {
	var places []insertion
	var problems []Problem
	for _, e := range f.Edits {
		anchor := []byte(e.Anchor)
		if n := countOverlapping(text, anchor); n != 1 {
			problems = append(problems, anchorProblem(f.Path, e, n))
			continue
		}
		offset := bytes.Index(text, anchor)
		if e.Where == "after" {
			offset += len(anchor)
		}
		places = append(places, insertion{offset: offset, text: e.Text})
	}
	slices.SortStableFunc(places, byOffset)
	return places, problems
}

func byOffset(a, b insertion) int { return a.offset - b.offset }

// countOverlapping counts occurrences that may overlap: of two overlapping ones neither is the place that was meant.
func countOverlapping(text, anchor []byte) int {
	n := 0
	for {
		i := bytes.Index(text, anchor)
		if i < 0 {
			return n
		}
		n++
		text = text[i+1:]
	}
}

// insert returns the text with the insertions, which are in order of offset.
func insert(text []byte, places []insertion) []byte {
	var out bytes.Buffer
	from := 0
	for _, place := range places {
		out.Write(text[from:place.offset])
		out.WriteString(place.text)
		from = place.offset
	}
	out.Write(text[from:])
	return out.Bytes()
}
