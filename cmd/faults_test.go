package cmd

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest    = regexp.MustCompile("`(Test\\w+)(?:/(\\w+))?`")
	declaredTest = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// TestFaultsAreHeld: every test that the table of faults names is there.
func TestFaultsAreHeld(t *testing.T) {
	declared := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declaredTest.FindAllSubmatch(text, -1) {
			declared[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	named := namedTest.FindAllSubmatch(text, -1)
	if len(named) == 0 {
		t.Fatal("the table names no test")
	}
	for _, m := range named {
		if !declared[string(m[1])] {
			t.Errorf("docs/faults.md names %s, which is not there", m[1])
		}
		if script := string(m[2]); script != "" {
			if _, err := os.Stat(filepath.Join("../testdata/scripts", script+".txtar")); err != nil {
				t.Error(err)
			}
		}
	}
}
