package overlay

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCheckReportsEverythingAtOnce(t *testing.T) {
	p, s := newTestPatch(t), newSite(t)
	writeTree(t, s.Dir, map[string]string{
		"vllm-0.24.0+cpu.dist-info/METADATA": "Version: 0.23.0\n",
		"vllm/envs.py":                       "A = 1\n",
		"vllm/v1/opprof.py":                  "mine\n",
	})
	if err := os.Remove(s.file("vllm/v1/core/scheduler.py")); err != nil {
		t.Fatal(err)
	}
	r := assertState(t, p, openSite(t, s.Dir), StateRefused)
	assertErr(t, r.Err(),
		"want vllm 0.24.0, found 0.23.0; install vllm==0.24.0",
		"vllm/envs.py: want sha256 "+sha256Hex([]byte(siteFiles["vllm/envs.py"])), "found "+sha256Hex([]byte("A = 1\n")),
		`vllm/envs.py: edit "declare", anchor "B = 2": want the anchor exactly once, found 0 times`,
		`edit "last", anchor "B = 2\n"`,
		"vllm/v1/core/scheduler.py: want the file, found none",
		"vllm/v1/opprof.py: want no such file",
	)
	if len(r.Problems) != 6 {
		t.Errorf("%d problems, want 6: %v", len(r.Problems), r.Problems)
	}
}

func TestCheckOfVersions(t *testing.T) {
	p := newTestPatch(t)
	for version, want := range map[string]State{
		"0.24.0": StateFits, "0.24.0+cpu": StateFits, "0.24.0+cu129": StateFits,
		"0.24.0.post1": StateRefused, "0.24.0rc1": StateRefused, "0.24": StateRefused, "0.24.1": StateRefused, "": StateRefused,
	} {
		s := newSite(t)
		s.Version = version
		assertState(t, p, s, want)
	}
	s := newSite(t)
	s.Version, s.Source = "", true // a checkout that was never built: the hashes decide
	assertState(t, p, s, StateFits)
}

func TestCheckChangesNothing(t *testing.T) {
	p, s := newTestPatch(t), newSite(t)
	before := snapshot(t, s.Dir)
	assertState(t, p, s, StateFits)
	if err := p.Diff(&bytes.Buffer{}, s); err != nil {
		t.Error(err)
	}
	assertSame(t, "check and diff", snapshot(t, s.Dir), before)
}

func TestDiffOfEdits(t *testing.T) {
	p, s := newTestPatch(t), newSite(t)
	const want = `--- a/vllm/envs.py
+++ b/vllm/envs.py
@@ -1,2 +1,4 @@
 A = 1
+OPPROF = 3
 B = 2
+C = 4
--- a/vllm/v1/core/scheduler.py
+++ b/vllm/v1/core/scheduler.py
@@ -1,3 +1,4 @@
 def schedule():
     x = 1
+    record(x)
     return x
--- /dev/null
+++ b/vllm/v1/opprof.py
@@ -0,0 +1,2 @@
`
	for _, when := range []string{"before", "applied"} {
		var out bytes.Buffer
		if err := p.Diff(&out, s); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), want) {
			t.Errorf("%s:\n%s\nwant\n%s", when, out.String(), want)
		}
		p.Apply(s)
	}
}

func TestInsertionsAreShownAsWholeLines(t *testing.T) {
	for _, c := range []struct {
		text   string
		place  insertion
		offset int
		added  string
	}{
		{"a\nb\n", insertion{1, "\nx"}, 2, "x\n"},                // after a line's last word
		{"a\n  b\n", insertion{4, "x\n  "}, 2, "  x\n"},          // before an indented word
		{"a\nb\n", insertion{2, "x\n"}, 2, "x\n"},                // whole as it is
		{"if a:\n", insertion{4, " or b"}, 4, " or b"},           // a changed line
		{"a", insertion{1, "\nx"}, 1, "\nx"},                     // no newline at the end
		{"a\n", insertion{0, "x\n"}, 0, "x\n"},                   // at the start
		{"\n\n\n", insertion{3, "\n"}, 3, "\n"},                  // the same byte all over
		{"aaa\n", insertion{0, "a"}, 0, "a"},                     // no line start to be had
		{"x = 1\n\n", insertion{5, "\n\ny = 2"}, 6, "\ny = 2\n"}, // with a blank line before
	} {
		got := c.place.toLineStart([]byte(c.text))
		if got != (insertion{c.offset, c.added}) {
			t.Errorf("%+v in %q: got %+v, want %d %q", c.place, c.text, got, c.offset, c.added)
		}
		was, is := insert([]byte(c.text), []insertion{c.place}), insert([]byte(c.text), []insertion{got})
		if !bytes.Equal(was, is) {
			t.Errorf("%+v in %q makes %q, moved %q", c.place, c.text, was, is)
		}
	}
}

// Moved insertions make the same text, also where they meet.
func TestWholeLinesKeepsTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringMatching(`[ab\n]{0,12}`).Draw(t, "text"))
		var places []insertion
		for range rapid.IntRange(0, 4).Draw(t, "places") {
			places = append(places, insertion{
				offset: rapid.IntRange(0, len(text)).Draw(t, "offset"),
				text:   rapid.StringMatching(`[ab\n]{1,4}`).Draw(t, "added"),
			})
		}
		slices.SortStableFunc(places, byOffset)
		if got, want := insert(text, wholeLines(text, places)), insert(text, places); !bytes.Equal(got, want) {
			t.Fatalf("got %q want %q", got, want)
		}
	})
}

// The printed diff is one that the patch program turns the originals into the patched files with.
func TestDiffIsAPatch(t *testing.T) {
	p, s, twin := newTestPatch(t), newSite(t), newSite(t)
	var out bytes.Buffer
	if err := p.Diff(&out, s); err != nil {
		t.Fatal(err)
	}
	runPatchProgram(t, twin, &out)
	assertText(t, twin.file("vllm/envs.py"), envsPatched)
	assertText(t, twin.file("vllm/v1/core/scheduler.py"), schedulerPatched)
	assertText(t, twin.file(recorderTarget), string(p.recorder))
}

func runPatchProgram(t *testing.T, s Site, diff io.Reader) {
	t.Helper()
	program, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("no patch program here")
	}
	cmd := exec.CommandContext(t.Context(), program, "-p1", "--batch")
	cmd.Dir, cmd.Stdin = s.Dir, diff
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func TestDiffOfAnotherInstallation(t *testing.T) {
	p, s := newTestPatch(t), newSite(t)
	writeTree(t, s.Dir, map[string]string{"vllm/envs.py": "A = 1\n"})
	assertErr(t, p.Diff(&bytes.Buffer{}, s), "vllm/envs.py", "cannot be patched")
}
