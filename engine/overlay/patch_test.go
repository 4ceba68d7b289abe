package overlay

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"
)

func TestNewPatchRefusesAFaultyPatch(t *testing.T) {
	swap := func(old, new string) func(fstest.MapFS) {
		return func(tree fstest.MapFS) {
			text := strings.ReplaceAll(editsTOML(), old, new)
			tree[editsFile] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	recorder := func(text string) func(fstest.MapFS) {
		return func(tree fstest.MapFS) { tree[recorderFile] = &fstest.MapFile{Data: []byte(text)} }
	}
	for name, c := range map[string]struct {
		change func(fstest.MapFS)
		want   string
	}{
		"no edits":             {func(tree fstest.MapFS) { delete(tree, editsFile) }, "edits.toml"},
		"no recorder":          {func(tree fstest.MapFS) { delete(tree, recorderFile) }, "opprof.py"},
		"no test":              {func(tree fstest.MapFS) { delete(tree, testFile) }, "test_opprof.py"},
		"not TOML":             {swap("vllm_version", "= vllm_version"), "edits.toml"},
		"unknown key":          {swap("where =", "whence ="), "unknown key file.edit.whence"},
		"no version":           {swap(`"0.24.0"`, `""`), "vllm_version is missing"},
		"no file":              {swap("[[file", "[[fill"), "no file is edited"},
		"path leaves":          {swap("vllm/envs.py", "vllm/../../envs.py"), "clean one below vllm/"},
		"path of another tree": {swap("vllm/envs.py", "torch/envs.py"), "clean one below vllm/"},
		"file named twice":     {swap("vllm/v1/core/scheduler.py", "vllm/envs.py"), "named twice"},
		"edit of the recorder": {swap("vllm/envs.py", recorderTarget), "named twice"},
		"short hash":           {swap(`sha256 = "`, `sha256 = "g`), "64 hexadecimal digits"},
		"empty anchor":         {swap(`anchor = "B = 2"`, `anchor = ""`), `edit "declare"`},
		"empty text":           {swap(`text = "C = 4\n"`, `text = ""`), `edit "last"`},
		"unknown side":         {swap(`where = "after"`, `where = "below"`), `where is "below"`},
		"no hash line":         {recorder("x = 1\n"), "found 0 lines"},
		"two hash lines":       {recorder(hashLine + "\n" + hashLine + "\n"), "found 2 lines"},
		"indented hash line":   {recorder("  " + hashLine + "\n"), "found 0 lines"},
	} {
		tree := patchTree()
		c.change(tree)
		_, err := NewPatch(tree)
		t.Run(name, func(t *testing.T) { assertErr(t, err, c.want) })
	}
}

func TestHashFollowsWhatIsInstalled(t *testing.T) {
	base := newTestPatch(t)
	changed := func(name, text string) *Patch {
		tree := patchTree()
		tree[name] = &fstest.MapFile{Data: append(tree[name].Data, text...)}
		return patchOf(t, tree)
	}
	if len(base.Hash()) != 64 {
		t.Errorf("hash %q has not 64 digits", base.Hash())
	}
	if newTestPatch(t).Hash() != base.Hash() {
		t.Error("the same patch has two hashes")
	}
	if changed(editsFile, "# a comment\n").Hash() == base.Hash() {
		t.Error("changed edits, same hash")
	}
	if changed(recorderFile, "y = 2\n").Hash() == base.Hash() {
		t.Error("changed recorder, same hash")
	}
	if changed(testFile, "y = 2\n").Hash() != base.Hash() {
		t.Error("the test is not installed beside a server, but changes the hash")
	}
	if want := "PATCH_HASH = \"" + base.Hash() + "\"\n"; !strings.Contains(string(base.recorder), want) {
		t.Errorf("the recorder was not given its hash:\n%s", base.recorder)
	}
}

func TestLocateWantsAnAnchorOnce(t *testing.T) {
	for _, c := range []struct {
		text, anchor string
		found        int
	}{
		{"abc", "b", 1},
		{"abc", "x", 0},
		{"abcb", "b", 2},
		{"ananas", "ana", 2}, // overlapping occurrences count
		{"", "b", 0},
		{"b", "b", 1},
	} {
		f := editedFile{Path: "vllm/x.py", Edits: []edit{{Name: "e", Anchor: c.anchor, Where: "after", Text: "T"}}}
		places, problems := f.locate([]byte(c.text))
		if (c.found == 1) != (len(problems) == 0) || (c.found == 1) != (len(places) == 1) {
			t.Errorf("%q in %q: %d places, %d problems", c.anchor, c.text, len(places), len(problems))
		}
		if c.found != 1 {
			assertErr(t, problems[0], "vllm/x.py", `"e"`, c.anchor, "exactly once", fmt.Sprintf("%d times", c.found))
		}
	}
}

// Taking the inserted texts out again, at places counted independently, gives the original.
func TestInsertOnlyInserts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{3,6}`), 1, 12, rapid.ID[string]).Draw(t, "lines")
		text := "<" + strings.Join(lines, ">\n<") + ">\n"
		var f editedFile
		for _, line := range lines {
			if rapid.Bool().Draw(t, "edit") {
				where := rapid.SampledFrom([]string{"before", "after"}).Draw(t, "where")
				f.Edits = append(f.Edits, edit{Anchor: "<" + line + ">", Where: where, Text: "{" + line + "}"})
			}
		}
		shuffled := rapid.Permutation(f.Edits).Draw(t, "order")
		places, problems := editedFile{Edits: shuffled}.locate([]byte(text))
		if len(problems) > 0 {
			t.Fatalf("problems: %v", problems)
		}
		got := string(insert([]byte(text), places))
		want := text
		for _, e := range f.Edits {
			with := e.Anchor + e.Text
			if e.Where == "before" {
				with = e.Text + e.Anchor
			}
			want = strings.Replace(want, e.Anchor, with, 1)
		}
		if got != want {
			t.Fatalf("got %q want %q", got, want)
		}
	})
}
