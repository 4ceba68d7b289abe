package experts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Counting files one by one and adding up is counting them together, whatever the files hold.
func TestMergedLoadsAreOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		layers, k := rapid.IntRange(1, 3).Draw(rt, "layers"), rapid.IntRange(1, 3).Draw(rt, "k")
		together, merged := NewLoad(0), NewLoad(0)
		for range rapid.IntRange(1, 4).Draw(rt, "files") {
			one := NewLoad(0)
			for range rapid.IntRange(0, 3).Draw(rt, "arrays") {
				ids := make([][][]uint16, rapid.IntRange(1, 5).Draw(rt, "tokens"))
				for i := range ids {
					ids[i] = make([][]uint16, layers)
					for j := range ids[i] {
						ids[i][j] = rapid.SliceOfN(rapid.Uint16Range(0, 40), k, k).Draw(rt, "row")
					}
				}
				a := arrayOf(t, ids)
				if one.Add(a) != nil || together.Add(a) != nil {
					rt.Fatal("not added")
				}
			}
			if err := merged.Merge(one); err != nil {
				rt.Fatal(err)
			}
		}
		if got, want := NewReport(merged, nil, nil), NewReport(together, nil, nil); !reflect.DeepEqual(got, want) {
			rt.Fatalf("%+v\n%+v", got, want)
		}
	})
}

func TestMergeRefusesAnotherModel(t *testing.T) {
	a, b := NewLoad(0), NewLoad(0)
	if err := a.Add(arrayOf(t, [][][]uint16{{{1, 2}}})); err != nil {
		t.Fatal(err)
	}
	if err := b.Add(arrayOf(t, [][][]uint16{{{1, 2}, {3, 4}}})); err != nil {
		t.Fatal(err)
	}
	before := NewReport(a, nil, nil)
	if err := a.Merge(b); err == nil || !strings.Contains(err.Error(), "2 layers of 2 experts a token, the arrays before have 1 of 2") {
		t.Error(err)
	}
	if !reflect.DeepEqual(before, NewReport(a, nil, nil)) {
		t.Error("the load has changed")
	}
}

func TestLoadOfAKnownNumberOfExperts(t *testing.T) {
	l := NewLoad(0)
	if err := l.Add(arrayOf(t, [][][]uint16{{{1, 2}}})); err != nil {
		t.Fatal(err)
	}
	four, err := l.Of(4)
	if err != nil {
		t.Fatal(err)
	}
	if n, given := four.Experts(); n != 4 || !given || !reflect.DeepEqual(four.Layer(0), []int64{0, 1, 1, 0}) {
		t.Errorf("%d, %v, %v", n, given, four.Layer(0))
	}
	for _, n := range []int{2, 0, -1, MaxExperts + 1} {
		if _, err := l.Of(n); err == nil {
			t.Errorf("%d experts were taken", n)
		}
	}
}

// A watch sees files come, change, break and go, and reads nothing twice.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	w := NewWatch(func() ([]string, error) { return filepath.Glob(filepath.Join(dir, "*")) })
	at := time.Unix(1_000_000, 0)
	put := func(name string, content []byte) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Second)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	look := func(wants ...string) {
		t.Helper()
		if err := w.Look(context.Background()); err != nil {
			t.Fatal(err)
		}
		l := w.List()
		var tokens int64
		if l.Load != nil {
			tokens = l.Load.Tokens
		}
		got := []string{fmt.Sprintf("%d of %d, %d tokens", l.Done, l.Of, tokens)}
		for _, f := range l.Files {
			for _, p := range f.Problems {
				got = append(got, filepath.Base(f.Path)+": "+p)
			}
		}
		if len(got) != len(wants) {
			t.Fatalf("got %q, want %q", got, wants)
		}
		for i := range got {
			if !strings.HasPrefix(got[i], wants[i]) {
				t.Fatalf("got %q, want %q", got, wants)
			}
		}
	}
	look("0 of 0, 0 tokens")
	whole := fileOf([][][]uint16{{{1, 2}}, {{3, 4}}})
	put("a.npy", whole[:len(whole)-1])
	look("1 of 1, 0 tokens", "a.npy: data ends after 7 of 8 bytes")
	put("a.npy", whole)
	look("1 of 1, 2 tokens")
	version := w.List().Version
	look("1 of 1, 2 tokens")
	if w.List().Version != version {
		t.Error("nothing has changed, and the list has")
	}
	put("b.npy", fileOf([][][]uint16{{{1, 2}, {1, 2}}}))
	put("c.npy", whole)
	look("3 of 3, 4 tokens", "b.npy: another shape")
	put("d.json", []byte("{"))
	look("4 of 4, 4 tokens", "b.npy: another shape", "d.json: response 1")
	for _, name := range []string{"a.npy", "c.npy", "d.json"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	look("1 of 1, 1 tokens") // b stands for itself now
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	put("e.npy", whole)
	if err := w.Run(ctx, nil); err != nil {
		t.Error(err)
	}
}
