package dataset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opprof/engine/rundir"
)

// A manifest is believed only where it names files that an export gives.
func FuzzManifest(f *testing.F) {
	for _, seed := range []string{
		`{"schema":1,"source":"/r","files":[{"path":"steps/campaign=-/run=r/engine=e/part-00000.parquet","table":"steps","rows":1}]}`,
		`{"files":[{"path":"/etc/passwd"},{"path":"../x.parquet"},{"path":"steps/../../x.parquet"},{"path":"steps//x.parquet"},{"path":""}]}`,
		`{"files":null}`, `[]`, `{`, "\xff\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d := &Dataset{dir: t.TempDir(), tables: []string{"steps"}}
		at := d.manifestPath("", "r")
		if err := os.MkdirAll(filepath.Dir(at), rundir.DirMode); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, text, rundir.FileMode); err != nil {
			t.Fatal(err)
		}
		m := d.earlier("", "r")
		if m == nil {
			return
		}
		for _, e := range m.Files {
			below, err := filepath.Rel(filepath.Join(d.dir, "steps"), filepath.Join(d.dir, e.Path))
			if err != nil || strings.HasPrefix(below, "..") || below == "." || !strings.HasSuffix(e.Path, ".parquet") {
				t.Errorf("it believes in %q", e.Path)
			}
		}
	})
}
