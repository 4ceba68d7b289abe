package overlay

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestPruneKeepsWhatIsUsed(t *testing.T) {
	day := 24 * time.Hour
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	c := NewCache(filepath.Join(t.TempDir(), "overlay"), func() time.Time { return now })
	p := newTestPatch(t)
	use := func(ago time.Duration) *Overlay {
		now = now.Add(-ago)
		defer func() { now = now.Add(ago) }()
		return build(t, c, p, newSite(t))
	}
	leased := use(40 * day)
	var free []*Overlay
	for _, ago := range []time.Duration{30 * day, 20 * day, 10 * day, 5 * day, 3 * day} {
		o := use(ago)
		o.Close()
		free = append(free, o)
	}
	var recent []*Overlay
	for range keepOverlays {
		o := use(time.Hour)
		o.Close()
		recent = append(recent, o)
	}
	for _, name := range []string{".new-of-a-dead-builder", ".old-half-removed"} {
		writeTree(t, c.root, map[string]string{name + "/vllm/envs.py": ""})
	}
	writeTree(t, c.root, map[string]string{"not-an-overlay/file": "", "0.24.0-0123456789ab-0123456789ab/vllm/envs.py": "no marker"})
	current := use(0)
	want := []string{".lock", "not-an-overlay", filepath.Base(leased.Dir), filepath.Base(current.Dir)}
	for _, o := range recent {
		want = append(want, filepath.Base(o.Dir))
	}
	assertEntries(t, c.root, want)
	leased.Close()
	use(0).Close()
	if _, err := os.Stat(leased.Dir); err == nil {
		t.Error("the overlay stays after its lease ended")
	}
	for _, o := range free {
		if _, err := os.Stat(o.Dir); err == nil {
			t.Errorf("%s, unused for days, stays", o.Dir)
		}
	}
}

// With fewer than keepOverlays others nothing is removed, however old.
func TestPruneKeepsAFew(t *testing.T) {
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	c := NewCache(filepath.Join(t.TempDir(), "overlay"), func() time.Time { return now })
	want := []string{".lock"}
	for range keepOverlays + 1 {
		o := build(t, c, newTestPatch(t), newSite(t))
		o.Close()
		want = append(want, filepath.Base(o.Dir))
		now = now.Add(100 * 24 * time.Hour)
	}
	assertEntries(t, c.root, want)
}

// What cannot be removed does not keep a server from starting.
func TestPruneFailureIsNoReasonToFail(t *testing.T) {
	c, p, s := newTestCache(t), newTestPatch(t), newSite(t)
	blocked := filepath.Join(c.root, "0.24.0-0123456789ab-0123456789ab")
	writeTree(t, c.root, map[string]string{".old-" + filepath.Base(blocked) + "/file": ""})
	for i := range keepOverlays {
		o := build(t, c, newTestPatch(t), newSite(t))
		o.Close()
		if i == 0 && o.PruneErr != nil {
			t.Error(o.PruneErr)
		}
	}
	// A marker that is a link in a circle can neither be opened nor taken for missing.
	if err := errors.Join(os.Mkdir(blocked, 0o755), os.Symlink(markerFile, filepath.Join(blocked, markerFile))); err != nil {
		t.Fatal(err)
	}
	o := build(t, c, p, s)
	assertErr(t, o.PruneErr, "cannot remove old overlays", blocked)
	assertWhole(t, o, p, s)
}

// A server that inherited the lease keeps the overlay when the process that built it has gone.
func TestLeaseIsInherited(t *testing.T) {
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	c := NewCache(filepath.Join(t.TempDir(), "overlay"), func() time.Time { return now })
	o := build(t, c, newTestPatch(t), newSite(t))
	server := exec.Command("cat")
	server.ExtraFiles = []*os.File{o.Lease()}
	stdin, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(server.Start(), o.Close()); err != nil {
		t.Fatal(err)
	}
	for range keepOverlays + 1 {
		now = now.Add(100 * 24 * time.Hour)
		build(t, c, newTestPatch(t), newSite(t)).Close()
	}
	if _, err := os.Stat(o.Dir); err != nil {
		t.Errorf("the overlay of a running server was removed: %v", err)
	}
	if err := errors.Join(stdin.Close(), server.Wait()); err != nil {
		t.Fatal(err)
	}
	build(t, c, newTestPatch(t), newSite(t)).Close()
	if _, err := os.Stat(o.Dir); err == nil {
		t.Error("the overlay stays after its server has ended")
	}
}

func assertEntries(t *testing.T, dir string, want []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("entries\n got %q\nwant %q", got, want)
	}
}
