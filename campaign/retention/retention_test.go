package retention

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"opprof/engine/journal"
	"opprof/engine/notes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const day = 24 * time.Hour

var now = time.Unix(1_900_000_000, 0)

func TestPlan(t *testing.T) {
	run := func(id string, age int, bytes int64) Run {
		return Run{ID: id, Path: id, Bytes: bytes, Touched: now.Add(-time.Duration(age) * day), Plain: 1}
	}
	used := func(r Run) Run { r.Used = "its server runs"; return r }
	kept := func(r Run) Run { r.Kept = "it has 1 note"; return r }
	packed := func(r Run) Run { r.Plain = 0; return r }
	for _, c := range []struct {
		name   string
		policy Policy
		runs   []Run
		want   string // actions, oldest first
	}{
		{"no policy", Policy{}, []Run{run("a", 900, 1<<40)}, "a:keep"},
		{"by age", Policy{KeepFor: 30 * day}, []Run{run("a", 29, 1), run("b", 30, 1), run("c", 31, 1)}, "c:delete b:delete a:keep"},
		{"compacted by age", Policy{CompactAfter: 2 * day}, []Run{run("a", 1, 1), run("b", 2, 1), packed(run("c", 3, 1))}, "c:keep b:compact a:keep"},
		{"deleted rather than compacted", Policy{CompactAfter: 2 * day, KeepFor: 3 * day}, []Run{run("a", 2, 1), run("b", 3, 1)}, "b:delete a:compact"},
		{"the oldest beyond a size", Policy{KeepBytes: 10}, []Run{run("a", 1, 6), run("b", 2, 4), run("c", 3, 5)}, "c:delete b:keep a:keep"},
		{"as many as it takes", Policy{KeepBytes: 5}, []Run{run("a", 1, 6), run("b", 2, 4), run("c", 3, 5)}, "c:delete b:delete a:delete"},
		{"what age takes counts", Policy{KeepBytes: 10, KeepFor: 3 * day}, []Run{run("a", 1, 6), run("b", 2, 4), run("c", 3, 5)}, "c:delete b:keep a:keep"},
		{"in use", Policy{KeepBytes: 1, KeepFor: day, CompactAfter: day}, []Run{used(run("a", 9, 6))}, "a:keep"},
		{"notes are kept and compacted", Policy{KeepBytes: 1, CompactAfter: day}, []Run{kept(run("a", 9, 6)), run("b", 3, 1)}, "a:compact b:delete"},
		{"notes are kept by age", Policy{KeepFor: day, CompactAfter: day}, []Run{kept(run("a", 9, 6))}, "a:keep"},
		{"a clock that is behind", Policy{KeepFor: day}, []Run{run("a", -5, 1)}, "a:keep"},
	} {
		var got []string
		for _, v := range Plan(c.policy, now, c.runs) {
			got = append(got, v.ID+":"+string(v.Action))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Whatever the policy: what is used or kept stays, nothing younger than KeepFor goes while the size allows, and of two that a size rule may take
// the older goes first.
func TestPlanIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Policy{KeepFor: time.Duration(rapid.IntRange(0, 20).Draw(t, "days")) * day, KeepBytes: rapid.Int64Range(0, 100).Draw(t, "bytes")}
		var runs []Run
		for i := range rapid.IntRange(0, 12).Draw(t, "runs") {
			r := Run{ID: string(rune('a' + i)), Bytes: rapid.Int64Range(0, 40).Draw(t, "size"), Touched: now.Add(-time.Duration(rapid.IntRange(0, 30).Draw(t, "age")) * day)}
			r.Path = r.ID
			if rapid.IntRange(0, 3).Draw(t, "state") == 0 {
				r.Used = "x"
			} else if rapid.IntRange(0, 3).Draw(t, "notes") == 0 {
				r.Kept = "x"
			}
			runs = append(runs, r)
		}
		var left int64
		verdicts := Plan(p, now, runs)
		for _, v := range verdicts {
			if v.Action != Delete {
				left += v.Bytes
			}
			if v.Action == Delete && (v.Used != "" || v.Kept != "" || p.KeepFor == 0 && p.KeepBytes == 0) {
				t.Fatalf("%+v", v)
			}
		}
		free := func(v Verdict) bool { return v.Used == "" && v.Kept == "" }
		for i, v := range verdicts {
			if v.Action != Delete && free(v) && p.KeepBytes > 0 && left > p.KeepBytes {
				t.Fatalf("%d bytes are left of %d, and %s stays", left, p.KeepBytes, v.ID)
			}
			for _, later := range verdicts[i+1:] {
				if v.Action != Delete && free(v) && later.Action == Delete {
					t.Fatalf("%s goes before %s, which is older", later.ID, v.ID)
				}
			}
		}
	})
}

func mkdir(t testing.TB, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func put(t testing.TB, path, text string) string {
	t.Helper()
	mkdir(t, filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const stream = "layer1/opprof-v1-dp0-pid1-1.jsonl"

func look(t testing.TB, root string) map[string]Run {
	t.Helper()
	runs, err := Look(root, "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Run{}
	for _, r := range runs {
		found[r.ID] = r
	}
	return found
}

func TestLook(t *testing.T) {
	root := t.TempDir()
	put(t, filepath.Join(root, "plain", stream), "x\n")
	put(t, filepath.Join(root, "packed", stream+".zst"), "x\n")
	put(t, filepath.Join(root, "noted", stream), "x\n")
	if _, _, err := notes.NewBook(filepath.Join(root, "noted"), "", time.Now).Add(notes.Note{Text: "look at this"}); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "torn", stream), "x\n")
	put(t, filepath.Join(root, "torn/notes.jsonl"), "nonsense\n")
	mkdir(t, filepath.Join(root, "odd/notes.jsonl"))
	put(t, filepath.Join(root, "odd", stream), "x\n")
	open, err := os.OpenFile(put(t, filepath.Join(root, "written", stream), "x\n"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	put(t, filepath.Join(root, "camp/campaign.toml"), "")
	put(t, filepath.Join(root, "camp/runs/r1", stream), "x\n")
	elsewhere := t.TempDir()
	put(t, filepath.Join(elsewhere, stream), "x\n")
	if err := os.Symlink(elsewhere, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	runs := look(t, root)
	for _, c := range []struct {
		id, used, kept string
		plain          int64
	}{
		{"plain", "", "", 1}, {"packed", "", "", 0}, {"noted", "", "1 note", 1}, {"torn", "", "cannot be read", 1},
		{"odd", "", "cannot be read", 1}, {"written", "open for writing", "", 1},
		{"r1", "", "campaign is not finished", 1}, {"link", "is a link", "", 0},
	} {
		r, ok := runs[c.id]
		if !ok || (r.Used == "") != (c.used == "") || !strings.Contains(r.Used, c.used) || (r.Kept == "") != (c.kept == "") || !strings.Contains(r.Kept, c.kept) || r.Plain != c.plain {
			t.Errorf("%s: %+v", c.id, r)
		}
	}
	if r := runs["plain"]; r.Bytes < 4096 || time.Since(r.Touched) > time.Hour {
		t.Errorf("%+v", r)
	}
	at := time.Unix(1_700_000_000, 0)
	if err := os.Chtimes(filepath.Join(root, "plain", stream), at, at); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "plain", stream+".opidx"), "made anew")
	if r := look(t, root)["plain"]; !r.Touched.Equal(at) {
		t.Errorf("touched %v, want %v", r.Touched, at)
	}
	if runs, err := Look(filepath.Join(root, "none"), "", now); err != nil || len(runs) > 0 {
		t.Errorf("a root that is not there: %v, %v", runs, err)
	}
}

func TestRemove(t *testing.T) {
	root := t.TempDir()
	outside := put(t, filepath.Join(t.TempDir(), stream), "x\n")
	path := filepath.Join(root, "a")
	put(t, filepath.Join(path, stream), "x\n")
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(path, "kineto")); err != nil {
		t.Fatal(err)
	}
	if err := Remove(root, look(t, root)["a"], now); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("what a link led to: %v", err)
	}
}

func TestRemoveRefuses(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	put(t, filepath.Join(other, "b", stream), "x\n")
	if err := os.Symlink(filepath.Join(other, "b"), filepath.Join(root, "b")); err != nil {
		t.Fatal(err)
	}
	open, err := os.OpenFile(put(t, filepath.Join(root, "written", stream), "x\n"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	mkdir(t, filepath.Join(root, "held/layer1"))
	j, _, err := journal.Open(filepath.Join(root, "held/journal.jsonl"), journal.SystemClock{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for path, says := range map[string]string{
		filepath.Join(other, "b"):              "does not lie below",
		root:                                   "does not lie below",
		filepath.Join(root, "..", "x"):         "does not lie below",
		filepath.Join(root, "b"):               "is a link",
		filepath.Join(root, "written"):         "open for writing",
		filepath.Join(root, "held"):            "journal",
		filepath.Join(root, "written", stream): "is no folder",
	} {
		if err := Remove(root, Run{Path: path}, time.Now()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", path, err, says)
		}
	}
	if err := Remove(root, Run{Path: filepath.Join(root, "held")}, time.Now()); !errors.Is(err, ErrUsed) {
		t.Errorf("%v", err)
	}
	for _, path := range []string{filepath.Join(other, "b", stream), filepath.Join(root, "written", stream), filepath.Join(root, "held/journal.jsonl")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// A note that was written since Look keeps a run, also where it lies outside of the run's folder.
func TestANoteOfALastMomentKeepsARun(t *testing.T) {
	root, state := t.TempDir(), t.TempDir()
	path := filepath.Join(root, "a")
	put(t, filepath.Join(path, stream), "x\n")
	runs, err := Look(root, state, now)
	if err != nil || len(runs) != 1 || runs[0].Kept != "" {
		t.Fatalf("%+v, %v", runs, err)
	}
	sum := sha256.Sum256([]byte(runs[0].Path))
	put(t, filepath.Join(state, hex.EncodeToString(sum[:8])+"-a.jsonl"), `{"v":1,"id":"1","wall_ns":1,"engine":"","step":null,"at_ns":0,"text":"keep"}`+"\n")
	if err := Remove(root, runs[0], now); err == nil || !strings.Contains(err.Error(), "it has 1 note") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(path, stream)); err != nil {
		t.Error(err)
	}
}

func TestSweepEndsWhatWasKilled(t *testing.T) {
	root := t.TempDir()
	put(t, filepath.Join(root, doomed+"a", stream), "x\n")
	put(t, filepath.Join(root, "camp/runs", doomed+"b", stream), "x\n")
	put(t, filepath.Join(root, "c", stream), "x\n")
	put(t, filepath.Join(root, ".other/file"), "x\n")
	if got := look(t, root); len(got) != 1 {
		t.Errorf("runs %v", got)
	}
	if err := Sweep(root); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, pattern := range []string{"*", "camp/runs/*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			left = append(left, strings.TrimPrefix(f, root+"/"))
		}
	}
	slices.Sort(left)
	if !slices.Equal(left, []string{".other", "c", "camp"}) {
		t.Errorf("left is %q", left)
	}
	if err := Sweep(filepath.Join(root, "none")); err != nil {
		t.Error(err)
	}
}
