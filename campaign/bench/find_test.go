package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  string // "" is an error
	}{
		"its only file":           {[]string{"run.json", "log.txt"}, "run.json"},
		"GuideLLM":                {[]string{"benchmarks.json", "other.json"}, "benchmarks.json"},
		"AIPerf, in its folder":   {[]string{"tiny-openai/profile_export_aiperf.json", "tiny-openai/inputs.json"}, "tiny-openai/profile_export_aiperf.json"},
		"inference-perf":          {[]string{"r/summary_lifecycle_metrics.json", "r/stage_0_lifecycle_metrics.json"}, "r/summary_lifecycle_metrics.json"},
		"two that may be meant":   {[]string{"a/benchmarks.json", "b/benchmarks.json"}, ""},
		"several of unknown name": {[]string{"a.json", "b.json"}, ""},
		"none":                    {[]string{"a.csv"}, ""},
		"too far down":            {[]string{"1/2/3/4/5/6/benchmarks.json"}, ""},
	} {
		dir := t.TempDir()
		for _, f := range c.files {
			path := filepath.Join(dir, f)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Find(dir)
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: %s", name, got)
			}
			continue
		}
		if want := filepath.Join(dir, c.want); got != want || err != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		if again, err := Find(got); again != got || err != nil {
			t.Errorf("%s: the file itself: %s, %v", name, again, err)
		}
	}
	if _, err := Find(filepath.Join(t.TempDir(), "x")); err == nil || !strings.Contains(err.Error(), "left no results") {
		t.Error(err)
	}
}
