package rundir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestContents(t *testing.T) {
	root := t.TempDir()
	put := func(path, text string) {
		t.Helper()
		full := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("run.json", `{"schema":1,"id":"r1"}`)
	put("config.toml", "a = 1\n")
	put("layer1/x.jsonl", "12345")
	put("a/b/c/d.txt", "1")
	put("a/b/c/d/too-deep.txt", "1")
	if err := os.Symlink(root, filepath.Join(root, "loop")); err != nil {
		t.Fatal(err)
	}
	r := &Run{Root: root}
	c, err := r.Contents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range c.Files {
		paths = append(paths, fmt.Sprint(f.Path, " ", f.Bytes))
		if f.ModNS == 0 {
			t.Errorf("%s: no time", f.Path)
		}
	}
	want := []string{"a/b/c/d.txt 1", "config.toml 6", "layer1/x.jsonl 5", "run.json 22"}
	if !slices.Equal(paths, want) || c.Bytes != 34 || c.Config != "a = 1\n" || c.Manifest == nil || c.Manifest.ID != "r1" || len(c.Problems) != 0 {
		t.Errorf("files %q, %d bytes, config %q, manifest %+v, problems %q", paths, c.Bytes, c.Config, c.Manifest, c.Problems)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Contents(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
}

func TestContentsOfNothing(t *testing.T) {
	c, err := (&Run{Root: filepath.Join(t.TempDir(), "gone")}).Contents(t.Context())
	if err != nil || len(c.Files) != 0 || len(c.Problems) != 1 || !strings.Contains(c.Problems[0], "gone") {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestContentsAreBounded(t *testing.T) {
	root := t.TempDir()
	for i := range filesMax + 5 {
		if err := os.WriteFile(filepath.Join(root, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := (&Run{Root: root}).Contents(t.Context())
	if err != nil || len(c.Files) != filesMax || c.More != 5 {
		t.Errorf("%d files and %d more, %v", len(c.Files), c.More, err)
	}
}
