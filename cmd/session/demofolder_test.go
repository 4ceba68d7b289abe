package session

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// A demo removes what killed ones left, and nothing else.
func TestStaleDemosAreRemoved(t *testing.T) {
	temp := t.TempDir()
	at := func(name string) string { return filepath.Join(temp, name) }
	alive, err := newDemoFolder(temp)
	if err != nil {
		t.Fatal(err)
	}
	killed, err := newDemoFolder(temp)
	if err != nil {
		t.Fatal(err)
	}
	_ = killed.lock.Close() // as the kernel does
	for _, name := range []string{"opprof-demo-unlocked", "other-demo-1", "opprof-demo-of-links"} {
		if err := os.MkdirAll(at(name+"/layer1"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.WriteFile(at("other-demo-1/.lock"), nil, 0o600),
		os.WriteFile(at("opprof-demo-file"), nil, 0o600),
		os.Symlink(at("other-demo-1"), at("opprof-demo-link")),
		os.Symlink(at("other-demo-1/.lock"), at("opprof-demo-of-links/.lock")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	next, err := newDemoFolder(temp)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, err := os.ReadDir(temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := []string{filepath.Base(alive.path), filepath.Base(next.path), "opprof-demo-file", "opprof-demo-link", "opprof-demo-of-links", "opprof-demo-unlocked", "other-demo-1"}
	slices.Sort(want)
	if !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
	alive.remove()
	next.remove()
	if _, err := os.Lstat(alive.path); !os.IsNotExist(err) {
		t.Errorf("a demo that has ended leaves its folder: %v", err)
	}
}

// Demos that begin at once do not take each other's folders.
func TestDemosBeginAtOnce(t *testing.T) {
	temp := t.TempDir()
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 20 {
				d, err := newDemoFolder(temp)
				if err != nil {
					t.Error(err)
					return
				}
				if !present(d.lock) {
					t.Error("the folder is gone")
				}
				d.remove()
			}
		})
	}
	running.Wait()
	if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
