package cmd

import (
	"path/filepath"
	"strings"
	"testing"

	"opprof/engine/rundir"
	"opprof/testdata"
)

// TestAWalkThroughRuns drives the list as a reader does: its figures, a run opened and left, a filter, a comparison of two, the end.
func TestAWalkThroughRuns(t *testing.T) {
	root := t.TempDir()
	for run, recording := range map[string]string{"20261130-one-tp1-aaaa": "h200-tp1", "20261129-two-tp2-bbbb": "h200-tp2", "20261128-three-tp1-cccc": "h200-tp1-literal"} {
		data, err := testdata.Recording(recording)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(root, run, rundir.Layer1Name, "opprof-v1-dp0-pid1-1.jsonl"), string(data))
	}
	writeFile(t, filepath.Join(root, "20261127-bad-tp1-dddd", rundir.ManifestName), "{")
	x := startCommand(t, 140, 40, []string{"XDG_CACHE_HOME=" + t.TempDir()}, "opprof", "runs", root)
	x.await("the figures", says("4 runs", "6,018", "1.16M", "► 20261128-three-tp1-cccc", "× broken"))
	x.press("jj\r")
	x.await("the run", says("20261130-one-tp1-aaaa", "step period", "q back"))
	x.press("q")
	x.await("the list as it was", says("► 20261130-one-tp1-aaaa", "4 of 4"))
	x.press("/")
	x.await("the prompt", says("filter ", "enter keeps"))
	x.press("one\r")
	x.await("a filter", says(`1 of 4  with "one"`))
	x.press(" /")
	x.await("the prompt again", says("enter keeps"))
	x.press("\x7f\x7f\x7ftwo\r")
	x.await("another one", says("► 20261129-two-tp2-bbbb"))
	x.press("c")
	x.await("the comparison", says("faster: at equal composition", "a 20261130-one-tp1-aaaa and b 20261129-two-tp2-bbbb", "B against A"))
	x.press("\x1b")
	x.await("the list again", func(s string) bool { return strings.Contains(s, `with "two"`) })
	x.press("q")
	if code := x.ended(); code != int(ExitOK) {
		t.Errorf("exit %d", code)
	}
}
