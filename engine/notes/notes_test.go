package notes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"opprof/engine/rundir"
)

func clock() func() time.Time {
	var mu sync.Mutex
	at := time.Unix(1_790_000_000, 0)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(time.Second)
		return at
	}
}

func of(step int64, text string) Note {
	return Note{Engine: "0", Step: &step, AtNS: step * 1000, Text: text}
}

func TestNotesOutliveTheirBook(t *testing.T) {
	dir := t.TempDir()
	b := NewBook(dir, "", clock())
	if l, err := b.Read(); err != nil || len(l.Notes) != 0 || len(l.Paths) != 0 {
		t.Fatalf("a run without notes: %+v, %v", l, err)
	}
	second, where, err := b.Add(of(20, "second\nline \x1b[31mred"))
	if err != nil || where != filepath.Join(dir, rundir.NotesName) || !b.Inside(where) {
		t.Fatalf("written to %s: %v", where, err)
	}
	first, _, err := b.Add(of(10, ""))
	if err != nil {
		t.Fatal(err)
	}
	whole, _, err := b.Add(Note{Text: "about the run"})
	if err != nil {
		t.Fatal(err)
	}
	texts := func() []string {
		l, err := NewBook(dir, "", clock()).Read()
		if err != nil || l.BadLines != 0 {
			t.Fatal(err, l.FirstBad)
		}
		var out []string
		for _, n := range l.Notes {
			out = append(out, n.Text)
		}
		return out
	}
	if got, want := texts(), []string{"about the run", "", "second line [31mred"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	first.Text = "changed"
	if _, err := b.Put(first); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(second); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(whole); err != nil {
		t.Fatal(err)
	}
	if got, want := texts(), []string{"changed"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := b.Put(second); err != nil {
		t.Fatal(err)
	}
	if l, err := b.Read(); err != nil || len(l.Notes) != 2 || !l.Has(second.ID) {
		t.Errorf("a deletion that was undone: %+v, %v", l, err)
	}
	st, err := os.Stat(filepath.Join(dir, rundir.NotesName))
	if err != nil || st.Mode().Perm() != rundir.FileMode {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

func TestReadOnlyRunsKeepNotesElsewhere(t *testing.T) {
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "notes")
	if err := os.Mkdir(filepath.Join(dir, rundir.NotesName), 0o700); err != nil { // not even root can write it
		t.Fatal(err)
	}
	if _, _, err := NewBook(dir, "", clock()).Add(of(1, "x")); err == nil {
		t.Error("a folder in place of the file was written")
	}
	ro := t.TempDir()
	if err := os.Chmod(ro, 0o500); err != nil {
		t.Fatal(err)
	}
	b := NewBook(ro, state, clock())
	_, where, err := b.Add(of(1, "kept"))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 && (b.Inside(where) || filepath.Dir(where) != state) {
		t.Errorf("written to %s", where)
	}
	other := NewBook(ro, state, clock())
	if l, err := other.Read(); err != nil || len(l.Notes) != 1 || l.Notes[0].Text != "kept" || l.Paths[0] != where {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestDamagedLinesAreCountedAndPassedOver(t *testing.T) {
	dir := t.TempDir()
	b := NewBook(dir, "", clock())
	if _, _, err := b.Add(of(1, "one")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, rundir.NotesName)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "nonsense\n{\"v\":2,\"id\":\"a\"}\n{\"v\":1}\n\n{\"v\":1,\"id\":\"b\",\"step\":2,\"text\":\"tw")
	f.Close()
	l, err := b.Read()
	if err != nil || len(l.Notes) != 1 || l.BadLines != 3 || !strings.Contains(l.FirstBad, path+":2: not a note") {
		t.Errorf("%+v, %v", l, err)
	}
	if _, _, err := b.Add(of(3, "three")); err != nil { // behind a torn line
		t.Fatal(err)
	}
	if l, err := b.Read(); err != nil || len(l.Notes) != 2 || l.BadLines != 4 {
		t.Errorf("%+v, %v", l, err)
	}
}

// Two programs that write at once lose no line of each other.
func TestManyWriters(t *testing.T) {
	dir := t.TempDir()
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			b := NewBook(dir, "", clock())
			for i := range 10 {
				if _, _, err := b.Add(of(int64(w*10+i), strings.Repeat("x", 400))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	if l, err := NewBook(dir, "", clock()).Read(); err != nil || len(l.Notes) != 40 || l.BadLines != 0 {
		t.Errorf("%d notes, %d bad lines, %v", len(l.Notes), l.BadLines, err)
	}
}

// Whatever was typed is one printable line, and cleaning it again changes nothing.
func TestClean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := Clean(rapid.String().Draw(t, "text"))
		if Clean(text) != text || utf8.RuneCountInString(text) > TextMax || strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
			t.Fatalf("%q", text)
		}
	})
}

func FuzzReplay(f *testing.F) {
	good, _ := json.Marshal(line{lineVersion, of(7, "seven"), false})
	f.Add(append(good, '\n'))
	f.Add([]byte("{\"v\":1,\"id\":\"a\",\"deleted\":true}\n{\"v\":1,\"id\":\"a\",\"step\":null}"))
	f.Add([]byte("{}\n[1\n\x00\xff\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := &List{}
		l.take(l.replay("x", bytes.Clone(text)))
		seen := map[string]bool{}
		for _, n := range l.Notes {
			if seen[n.ID] || n.ID == "" || n.Text != Clean(n.Text) {
				t.Fatalf("%+v", n)
			}
			seen[n.ID] = true
		}
		if (l.BadLines > 0) != (l.FirstBad != "") {
			t.Fatalf("%d bad lines, the first %q", l.BadLines, l.FirstBad)
		}
	})
}
