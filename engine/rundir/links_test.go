package rundir

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A file is one stream or trace, by however many names it can be reached.
func TestAFileIsFoundOnce(t *testing.T) {
	dir := tree(t, map[string]string{
		"layer1/b.jsonl": stream, "layer1/deep/c.jsonl": stream, "kineto/a.pt.trace.json": "{}",
	})
	for link, to := range map[string]string{
		"layer1/a-loop": ".", "layer1/deep/up": "..", "kineto/loop": "../kineto", "layer1/other.jsonl": "b.jsonl", "layer1/away": "nowhere",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(dir, "layer1/b.jsonl"), filepath.Join(dir, "layer1/b.jsonl.1")); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	below := func(paths []string) (out []string) {
		for _, p := range paths {
			rel, err := filepath.Rel(dir, p)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, rel)
		}
		return out
	}
	if got := below(r.Streams); !slices.Equal(got, []string{"layer1/b.jsonl", "layer1/deep/c.jsonl"}) {
		t.Errorf("streams %q", got)
	}
	if got := below(r.Traces); !slices.Equal(got, []string{"kineto/a.pt.trace.json"}) {
		t.Errorf("traces %q", got)
	}
	if again, err := r.ListStreams(); err != nil || !slices.Equal(again, r.Streams) {
		t.Errorf("listed again: %q, %v", again, err)
	}
}
