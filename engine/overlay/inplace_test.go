package overlay

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func (p *Patch) mustApply(t *testing.T, s Site) {
	t.Helper()
	if changed, err := p.Apply(s); err != nil || !changed {
		t.Fatalf("apply: changed %v, %v", changed, err)
	}
}

func (p *Patch) mustRevert(t *testing.T, s Site) {
	t.Helper()
	if changed, err := p.Revert(s); err != nil || !changed {
		t.Fatalf("revert: changed %v, %v", changed, err)
	}
}

func assertState(t *testing.T, p *Patch, s Site, want State) Report {
	t.Helper()
	r, err := p.Check(s)
	if err != nil || r.State != want {
		t.Errorf("state %s, want %s; problems %v, error %v", r.State, want, r.Problems, err)
	}
	return r
}

func assertPatched(t *testing.T, p *Patch, s Site) {
	t.Helper()
	assertText(t, s.file("vllm/envs.py"), envsPatched)
	assertText(t, s.file("vllm/v1/core/scheduler.py"), schedulerPatched)
	assertText(t, s.file(recorderTarget), string(p.recorder))
	assertState(t, p, s, StateApplied)
}

// setAttributes gives the edited files modes and times that a rewrite would lose.
func setAttributes(t *testing.T, s Site) {
	t.Helper()
	past := time.Date(2026, 7, 1, 2, 3, 4, 567890000, time.UTC)
	name := s.file("vllm/v1/core/scheduler.py")
	if err := errors.Join(os.Chmod(name, 0o751), os.Chtimes(name, past, past)); err != nil {
		t.Fatal(err)
	}
}

// withoutBytecode drops what a revert may remove: compiled files of the edited sources.
func withoutBytecode(tree map[string]string) map[string]string {
	delete(tree, "vllm/__pycache__/envs.cpython-311.pyc")
	return tree
}

func TestApplyAndRevert(t *testing.T) {
	t.Parallel()
	p, s := newTestPatch(t), newSite(t)
	setAttributes(t, s)
	before := withoutBytecode(snapshot(t, s.Dir))
	assertState(t, p, s, StateFits)
	p.mustApply(t, s)
	assertPatched(t, p, s)
	if at, err := os.Stat(s.file("vllm/v1/core/scheduler.py")); err != nil || at.Mode().Perm() != 0o751 {
		t.Errorf("the mode was lost: %v, %v", at.Mode(), err)
	}
	if _, err := os.Stat(s.file("vllm/__pycache__/envs.cpython-311.pyc")); err == nil {
		t.Error("a compiled form of the unpatched file was left")
	}
	if _, err := os.Stat(s.file(testTarget)); err == nil {
		t.Error("the test was written into an installation")
	}
	applied := snapshot(t, s.Dir)
	if changed, err := p.Apply(s); changed || err != nil {
		t.Errorf("second apply: changed %v, %v", changed, err)
	}
	assertSame(t, "second apply", snapshot(t, s.Dir), applied)
	p.mustRevert(t, s)
	assertSame(t, "revert", snapshot(t, s.Dir), before)
	if changed, err := p.Revert(s); changed || err != nil {
		t.Errorf("second revert: changed %v, %v", changed, err)
	}
	assertState(t, p, s, StateFits)
}

func TestSourceCheckoutGetsTheTest(t *testing.T) {
	p, s := newTestPatch(t), newSite(t)
	writeTree(t, s.Dir, map[string]string{"tests/v1/core/__init__.py": ""})
	if err := os.Remove(s.file("vllm/_version.py")); err != nil {
		t.Fatal(err)
	}
	source, err := OpenSource(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	before := withoutBytecode(snapshot(t, s.Dir))
	p.mustApply(t, source)
	assertText(t, s.file(testTarget), string(p.test))
	p.mustRevert(t, source)
	assertSame(t, "revert", snapshot(t, s.Dir), before)
}

// However a run ends, the next check sees it and both commands finish it.
func TestInterruptedRuns(t *testing.T) {
	const files = 3 // of the synthetic patch
	type crash struct {
		name string
		want State
		run  func(*testing.T, *Patch, Site)
	}
	crashes := []crash{{"apply, staged", StateFits, func(t *testing.T, p *Patch, s Site) { stageAll(t, p, s) }}}
	for k := range files + 1 {
		want := StateHalfApplied
		switch k {
		case 0:
			want = StateFits
		case files:
			want = StateApplied
		}
		crashes = append(crashes, crash{fmt.Sprintf("apply, %d of %d", k, files), want, func(t *testing.T, p *Patch, s Site) {
			state := stageAll(t, p, s)
			if err := writeState(s, state); err != nil {
				t.Fatal(err)
			}
			for i := range k {
				if err := replace(filepath.Join(stateDir(s), stagedName(i)), s.file(state.Files[i].Path)); err != nil {
					t.Fatal(err)
				}
			}
		}})
		crashes = append(crashes, crash{fmt.Sprintf("revert, %d of %d left", k, files), want, func(t *testing.T, p *Patch, s Site) {
			p.mustApply(t, s)
			state, _, err := readTreeState(s)
			if err != nil {
				t.Fatal(err)
			}
			for i := range files - k {
				if err := state.Files[i].restore(s, i); err != nil {
					t.Fatal(err)
				}
			}
		}})
	}
	for _, c := range crashes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // they wait for the disk
			p := newTestPatch(t)
			for _, finish := range []string{"apply", "revert", "other patch"} {
				s := newSite(t)
				setAttributes(t, s)
				before := withoutBytecode(snapshot(t, s.Dir))
				c.run(t, p, s)
				r := assertState(t, p, s, c.want)
				if c.want == StateHalfApplied {
					assertErr(t, r.Err(), "half_applied", "opprof patch apply", "opprof patch revert")
				}
				switch finish {
				case "apply":
					_, err := p.Apply(s)
					if err != nil {
						t.Error(err)
					}
					assertPatched(t, p, s)
				case "other patch":
					other := otherPatch(t)
					other.mustApply(t, s)
					assertPatched(t, other, s)
				}
				if _, err := p.Revert(s); err != nil {
					t.Error(err)
				}
				assertSame(t, finish+", then revert", withoutBytecode(snapshot(t, s.Dir)), before)
			}
		})
	}
}

func stageAll(t *testing.T, p *Patch, s Site) treeState {
	t.Helper()
	_, changes, err := p.examine(s)
	if err != nil {
		t.Fatal(err)
	}
	state, err := p.stage(s, changes)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// A replacement that fails takes back those before it.
func TestFailedApplyIsTakenBack(t *testing.T) {
	p, s := newTestPatch(t), newSite(t)
	before := withoutBytecode(snapshot(t, s.Dir))
	state := stageAll(t, p, s)
	if err := os.Remove(filepath.Join(stateDir(s), stagedName(2))); err != nil {
		t.Fatal(err)
	}
	assertErr(t, state.commit(s), "cannot patch", stagedName(2))
	assertSame(t, "failed apply", withoutBytecode(snapshot(t, s.Dir)), before)
}

func TestAnotherPatchIsReplaced(t *testing.T) {
	t.Parallel()
	p, other, s := newTestPatch(t), otherPatch(t), newSite(t)
	before := withoutBytecode(snapshot(t, s.Dir))
	other.mustApply(t, s)
	r := assertState(t, p, s, StateOtherPatch)
	assertErr(t, r.Err(), other.Hash(), p.Hash())
	p.mustApply(t, s)
	assertPatched(t, p, s)
	other.mustRevert(t, s)
	assertSame(t, "revert by another OpProf", snapshot(t, s.Dir), before)
}

func TestReinstallingForgetsThePatch(t *testing.T) {
	t.Parallel()
	p, s := newTestPatch(t), newSite(t)
	p.mustApply(t, s)
	if err := os.Remove(s.file(recorderTarget)); err != nil {
		t.Fatal(err)
	}
	writeTree(t, s.Dir, siteFiles)
	assertState(t, p, s, StateFits)
	p.mustApply(t, s)
	assertPatched(t, p, s)
}

func TestLaterChangesAreKept(t *testing.T) {
	t.Parallel()
	p, s := newTestPatch(t), newSite(t)
	p.mustApply(t, s)
	writeTree(t, s.Dir, map[string]string{"vllm/envs.py": "MINE = 1\n"})
	before := snapshot(t, s.Dir)
	r := assertState(t, p, s, StateRefused)
	assertErr(t, r.Err(), "vllm/envs.py", "changed after the patch was applied", "install vllm again")
	_, err := p.Revert(s)
	assertErr(t, err, "cannot revert vllm/envs.py", "install vllm again")
	_, err = p.Apply(s)
	assertErr(t, err, "vllm/envs.py", "changed after")
	assertSame(t, "refused", snapshot(t, s.Dir), before)
}

func TestDamagedBackup(t *testing.T) {
	p, s := newTestPatch(t), newSite(t)
	p.mustApply(t, s)
	writeTree(t, stateDir(s), map[string]string{"old-0": "damaged"})
	_, err := p.Revert(s)
	assertErr(t, err, "the backup of vllm/envs.py is damaged", "install vllm again")
}

func TestUnusableState(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"torn":         {`{"schema": 1, "fil`, "cannot use the patch state"},
		"later schema": {`{"schema": 2}`, "schema 2, want 1"},
		"leaves":       {`{"schema": 1, "files": [{"path": "../../etc/passwd"}]}`, "leaves the folder"},
		"backup":       {`{"schema": 1, "files": [{"path": "a", "backup": "/etc/passwd"}]}`, "leaves the folder"},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := newTestPatch(t), newSite(t)
			writeTree(t, stateDir(s), map[string]string{"state.json": c.text})
			_, err := p.Check(s)
			assertErr(t, err, c.want)
			_, err = p.Revert(s)
			assertErr(t, err, c.want)
		})
	}
}

// A tree of links stays one after a revert, and the files behind the links are not touched.
func TestLinkedTree(t *testing.T) {
	t.Parallel()
	p, real := newTestPatch(t), newSite(t)
	dir := t.TempDir()
	for name := range siteFiles {
		link := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(real.file(name), link)); err != nil {
			t.Fatal(err)
		}
	}
	behind, before := snapshot(t, real.Dir), withoutBytecode(snapshot(t, dir))
	s := openSite(t, dir)
	p.mustApply(t, s)
	assertPatched(t, p, s)
	p.mustRevert(t, s)
	assertSame(t, "links", snapshot(t, dir), before)
	assertSame(t, "files behind the links", snapshot(t, real.Dir), behind)
}

func TestLinkedFolderIsRefused(t *testing.T) {
	p, real, s := newTestPatch(t), newSite(t), newSite(t)
	core := s.file("vllm/v1/core")
	if err := errors.Join(os.RemoveAll(core), os.Symlink(real.file("vllm/v1/core"), core)); err != nil {
		t.Fatal(err)
	}
	behind, before := snapshot(t, real.Dir), snapshot(t, s.Dir)
	_, err := p.Apply(s)
	assertErr(t, err, "vllm/v1/core/scheduler.py", "link to "+real.Dir, "patch that installation")
	assertSame(t, "refused", snapshot(t, s.Dir), before)
	assertSame(t, "behind", snapshot(t, real.Dir), behind)
}

func TestUnwritableInstallation(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}
	p, s := newTestPatch(t), newSite(t)
	if err := os.Chmod(s.Package(), 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(s.Package(), 0o755) })
	_, err := p.Apply(s)
	assertErr(t, err, "cannot write in "+s.Package(), "run as the owner", "opprof launch")
}

func TestExplainSaysWhatToDo(t *testing.T) {
	s := Site{Dir: "/site"}
	for _, cause := range []error{unix.EACCES, unix.EPERM, unix.EROFS} {
		err := explain(s, fmt.Errorf("open: %w", cause))
		assertErr(t, err, "/site/vllm", "run as the owner", cause.Error())
	}
	if err := explain(s, unix.ENOSPC); strings.Contains(err.Error(), "owner") {
		t.Error(err)
	}
}

func TestTwoCommandsDoNotMix(t *testing.T) {
	p, s := newTestPatch(t), newSite(t)
	unlock, err := lockTree(s)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Apply(s)
	assertErr(t, err, "locked by another process")
	_, err = p.Revert(s)
	assertErr(t, err, "locked by another process")
	unlock()
	p.mustApply(t, s)
}
