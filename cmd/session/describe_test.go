package session

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"opprof/engine/index"
	"opprof/engine/store"
)

// spoil puts bad lines behind the line ends that are nearest to some places of a stream, and returns the first one's number.
func spoil(t *testing.T, stream string, at ...float64) (firstLine int) {
	t.Helper()
	text, err := os.ReadFile(stream)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	rest := text
	for _, share := range at {
		from := int(share*float64(len(text))) - (len(text) - len(rest))
		cut := from + bytes.IndexByte(rest[from:], '\n') + 1
		out = append(append(out, rest[:cut]...), "not a record\n"...)
		rest = rest[cut:]
		if firstLine == 0 {
			firstLine = bytes.Count(out, []byte("\n"))
		}
	}
	if err := os.WriteFile(stream, append(out, rest...), 0o600); err != nil {
		t.Fatal(err)
	}
	return firstLine
}

// The lines of a long stream are counted as those of one that is read whole, and the first bad one has its number wherever it stands; nothing
// is said of samples once the index is complete.
func TestLongStreamsCountAllTheirLines(t *testing.T) {
	for _, places := range [][]float64{{}, {0.1}, {0.3, 0.99}, {0.99}, {0, 0.95, 0.99}} {
		t.Run(fmt.Sprint(places), func(t *testing.T) {
			dir, stream := writeRounds(t, "h200-tp1", 2)
			first := spoil(t, stream, places...)
			whole := open(t, dir, Options{})
			long := open(t, dir, Options{wholeBytes: 1 << 20, recentBytes: 1 << 20})
			wait(t, whole)
			wait(t, long)
			a, b := whole.Run(), long.Run()
			a.Streams[0].FallbackShare, b.Streams[0].FallbackShare = 0, 0
			if !reflect.DeepEqual(a.Streams, b.Streams) || !reflect.DeepEqual(a.Problems, b.Problems) {
				t.Errorf("described as\n%+v\n%q\nwant\n%+v\n%q", b.Streams, b.Problems, a.Streams, a.Problems)
			}
			if want := fmt.Sprintf("%s:%d: ", stream, first); b.Streams[0].BadLines != int64(len(places)) || len(places) > 0 && !strings.HasPrefix(b.Streams[0].FirstBad, want) {
				t.Errorf("%d bad lines, the first %q, want %q", b.Streams[0].BadLines, b.Streams[0].FirstBad, want)
			}
		})
	}
}

// An index with one flipped bit, wherever, is said to be damaged and built again: the totals are those of the whole run.
func TestADamagedIndexGivesTheSameTotals(t *testing.T) {
	dir, stream := writeRounds(t, "h200-tp1", 5)
	options := Options{wholeBytes: 1 << 20, recentBytes: 1 << 20}
	first := open(t, dir, options)
	wait(t, first)
	want := frame(t, first, store.Query{}).Run
	_ = first.Close()
	path := stream + index.Extension
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, share := range []float64{0, 0.3, 0.6, 0.9, 0.999} {
		damaged := bytes.Clone(whole)
		damaged[int(share*float64(len(whole)))] ^= 1
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, options)
		wait(t, s)
		if f := frame(t, s, store.Query{}); f.Sampled || !reflect.DeepEqual(f.Run, want) {
			t.Errorf("damaged at %.3f: sampled %t, %+v", share, f.Sampled, f.Run)
		}
		if said := strings.Join(s.Run().Problems, "\n"); !strings.Contains(said, "the index is not used") {
			t.Errorf("damaged at %.3f: said %q", share, said)
		}
		_ = s.Close()
		if healed, err := os.ReadFile(path); err != nil || !bytes.Equal(healed, whole) {
			t.Errorf("damaged at %.3f: the file has not healed: %v", share, err)
		}
	}
}

// What happens to the files of a live run is said: a deleted stream, a deleted folder, a file that was begun again.
func TestWhatHappensToFilesIsSaid(t *testing.T) {
	dir, stream := writeRounds(t, "h200-tp2-eager", 1)
	text, err := os.ReadFile(stream)
	if err != nil {
		t.Fatal(err)
	}
	ticks := make(chan time.Time)
	s := open(t, dir, Options{Kind: KindLive, Ticks: ticks})
	wait(t, s)
	look := func() {
		ticks <- time.Time{}
		ticks <- time.Time{} // taken when the pass of the first is done
	}
	for _, now := range [][]byte{nil, text[:len(text)/2]} {
		if err := os.WriteFile(stream, now, 0o600); err != nil {
			t.Fatal(err)
		}
		look()
	}
	if d := s.Run(); d.Streams[0].Restarts == 0 || frame(t, s, store.Query{}).Loss.Backward != 1 {
		t.Errorf("begun again: %+v, %+v", d.Streams, frame(t, s, store.Query{}).Loss)
	}
	if err := os.Remove(stream); err != nil {
		t.Fatal(err)
	}
	look()
	if d := s.Run(); !d.Streams[0].Gone || d.Unlisted != "" || !strings.Contains(strings.Join(d.Problems, "\n"), "was deleted") {
		t.Errorf("deleted: %+v", d)
	}
	if err := os.RemoveAll(filepath.Dir(stream)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	look()
	if d := s.Run(); d.Unlisted == "" || !strings.Contains(strings.Join(d.Problems, "\n"), "cannot list") {
		t.Errorf("folder deleted: %+v", d)
	}
}
