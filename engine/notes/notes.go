// Package notes keeps what readers of a run write down: bookmarks of steps and a line of text about them. The file notes.jsonl in the run's
// folder only grows: one JSON object a line, on disk before it is acknowledged; a change or a deletion is a later line of the same id. Any
// number of programs may write at once. A run whose folder cannot be written keeps its notes under the user's state folder.
package notes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// TextMax is the longest text of a note, in runes.
	TextMax = 500
	// fileMax bounds a file of notes, in bytes.
	fileMax = 16 << 20
	idMax   = 64
)

// Note is a bookmark, with or without a text.
type Note struct {
	ID     string `json:"id"`
	WallNS int64  `json:"wall_ns"` // when it was last written, ns since 1970
	Engine string `json:"engine"`  // "" for the whole run
	Step   *int64 `json:"step"`    // step_index; null for the whole run
	AtNS   int64  `json:"at_ns"`   // completion of the step on the time axis, ns since 1970; 0 unknown
	Text   string `json:"text"`    // one line, "" for a mere bookmark
}

// line is a note as it is written.
type line struct {
	Version int `json:"v"`
	Note
	Deleted bool `json:"deleted,omitempty"`
}

const lineVersion = 1

// List is the notes of a run as they stand.
type List struct {
	Notes    []Note   `json:"notes"` // of the whole run first, then by time and step
	Paths    []string `json:"paths"` // files that they were read from
	BadLines int64    `json:"bad_lines"`
	FirstBad string   `json:"first_bad"` // located; "" if none
}

// Clean makes a text one line of printable runes, at most TextMax of them.
func Clean(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError:
			return '?'
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > TextMax {
		text = string([]rune(text)[:TextMax])
	}
	return text
}

// replay gives the last line of each note in a file. A line that is no note is counted; one that was cut off by a crash is nothing.
func (l *List) replay(path string, text []byte) map[string]line {
	last := map[string]line{}
	for number := 1; len(text) > 0; number++ {
		one, rest, whole := bytes.Cut(text, []byte("\n"))
		text = rest
		if len(bytes.TrimSpace(one)) == 0 {
			continue
		}
		n, err := parse(one)
		if err == nil {
			last[n.ID] = n
			continue
		}
		if !whole {
			continue
		}
		if l.BadLines++; l.FirstBad == "" {
			l.FirstBad = fmt.Sprintf("%s:%d: %v", path, number, err)
		}
	}
	return last
}

// merge takes the later one of what two files say of a note: its folder may have become writable, or have ceased to be.
func merge(into, from map[string]line) {
	for id, n := range from {
		if have, ok := into[id]; !ok || n.WallNS >= have.WallNS {
			into[id] = n
		}
	}
}

// take lists the notes that are not deleted.
func (l *List) take(last map[string]line) {
	for _, n := range last {
		if !n.Deleted {
			l.Notes = append(l.Notes, n.Note)
		}
	}
	l.sort()
}

func parse(text []byte) (l line, err error) {
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fmt.Errorf("not a note: %w", err)
	}
	switch {
	case l.Version != lineVersion:
		return l, fmt.Errorf("a note of version %d, expected %d", l.Version, lineVersion)
	case l.ID == "" || len(l.ID) > idMax:
		return l, fmt.Errorf("a note without an id of 1 to %d bytes", idMax)
	}
	l.Text = Clean(l.Text)
	return l, nil
}

// sort puts notes of the whole run first, then those of steps by time.
func (l *List) sort() {
	slices.SortFunc(l.Notes, func(a, b Note) int {
		if (a.Step == nil) != (b.Step == nil) {
			if a.Step == nil {
				return -1
			}
			return 1
		}
		if a.Step != nil {
			if by := cmp.Or(cmp.Compare(a.AtNS, b.AtNS), cmp.Compare(*a.Step, *b.Step)); by != 0 {
				return by
			}
		}
		return cmp.Or(cmp.Compare(a.WallNS, b.WallNS), cmp.Compare(a.ID, b.ID))
	})
}
