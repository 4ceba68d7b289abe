package cmd

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers are the top folders, lowest first: none imports one that stands behind it.
var layers = []string{"engine", "traces", "campaign", "tui", "cmd"}

// only lists what may be imported directly in few places, and why. A folder stands for everything below it.
var only = []struct {
	path, why string
	in        []string
}{
	{"charm.land/bubbletea", "the terminal has one owner", []string{"tui"}},
	{"charm.land/bubbles", "widgets belong to the screen", []string{"tui"}},
	{"charm.land/lipgloss", "styles belong to the screen", []string{"tui"}},
	{"github.com/NimbleMarkets/ntcharts", "charts belong to the screen", []string{"tui"}},
	{"github.com/spf13/cobra", "only the command line parses the command line", []string{"cmd"}},
	{"github.com/spf13/pflag", "only the command line parses the command line", []string{"cmd"}},
	{"github.com/muesli", "the manual page is made of the command line", []string{"cmd"}},
	{"github.com/BurntSushi/toml", "configuration is read where it is used", []string{"cmd", "engine/overlay", "engine/serverconf", "traces/family"}},
	{"os/exec", "processes have few owners", []string{"engine/supervisor", "engine/overlay", "campaign/runner", "campaign/page/browsertest"}},
	{"os/signal", "signals reach the program as a context, those about its terminal reach the screen", []string{"cmd", "engine/supervisor", "tui"}},
	{"net/http", "the network has few owners", []string{"engine/vllm", "engine/control", "engine/supervisor", "campaign/export/openmetrics"}}, // the last one answers Prometheus
	{"gonum.org/v1/plot", "plots of reports are drawn in one place", []string{"campaign/figure"}},
	{"github.com/parquet-go", "tables for other programs are written in one place", []string{"campaign/export/columnar"}},
	{"encoding/gob", "files and sockets carry documented formats", nil},
	{"unsafe", "no speed is worth it here", nil},
	{"opprof/testdata", "the demo replays it; nothing else may need it to run", []string{"cmd/session", "cmd"}},
}

// leaves import nothing of this module but what is named.
var leaves = map[string][]string{
	"engine/unit":    nil,
	"engine/record":  nil,
	"engine/stall":   nil,
	"engine/regular": nil,
	"engine/rundir":  {"engine/regular"},
	"engine/frames":  {"engine/regular"},
	"engine/compact": {"engine/frames", "engine/record", "engine/regular", "engine/rundir"},
	"engine/tail":    {"engine/frames", "engine/record", "engine/regular", "engine/rundir"},
	"engine/store":   {"engine/record"},
	"engine/index":   {"engine/record", "engine/regular", "engine/rundir", "engine/store"},
	"engine/search":  {"engine/frames", "engine/index", "engine/query", "engine/record", "engine/regular", "engine/rundir", "engine/store"},
	"engine/query":   {"engine/record"},
	"engine/notes":   {"engine/regular", "engine/rundir"},
	"engine/journal": {"engine/regular"},
	"engine/vllm":    nil,
	"engine/meter":   {"engine/unit", "engine/vllm"},
	"engine/overlay": {"engine/rundir"},

	"campaign/stat":            nil,
	"campaign/figure":          {"engine/unit"},
	"campaign/page":            nil,
	"campaign/export/columnar": nil,
	"campaign/export/dataset":  {"engine/regular", "engine/rundir"},
	"campaign/export/feed":     {"engine/record", "engine/regular", "engine/rundir", "engine/store"},

	"tui/theme":  nil,
	"tui/keys":   nil,
	"tui/layout": {"tui/chart"},
	"tui/chart":  {"tui/theme", "engine/unit"},
	"testdata":   nil,
	"cmd/opprof": {"cmd"},
}

// wrongImports says what is wrong with a package's direct imports, in sentences.
func wrongImports(dir string, imports []string) []string {
	var wrong []string
	blame := func(imported, why string) {
		wrong = append(wrong, fmt.Sprintf("%s imports %s: %s", dir, imported, why))
	}
	allowed, isLeaf := leaves[dir]
	for _, imported := range imports {
		for _, rule := range only {
			if within(imported, rule.path) && !slices.ContainsFunc(rule.in, func(folder string) bool { return within(dir, folder) }) {
				blame(imported, rule.why)
			}
		}
		inside, ok := strings.CutPrefix(imported, "opprof/")
		if !ok {
			continue
		}
		if from, to := layer(dir), layer(inside); from >= 0 && to > from {
			blame(imported, "cmd -> tui -> campaign -> traces -> engine, never up")
		}
		if isLeaf && !slices.Contains(allowed, inside) {
			blame(imported, "it stays a leaf")
		}
	}
	return wrong
}

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

func layer(dir string) int {
	top, _, _ := strings.Cut(dir, "/")
	return slices.Index(layers, top)
}

func TestImportsGoOneWay(t *testing.T) {
	packages := importsBelow(t, "..")
	if len(packages) < 8 {
		t.Fatalf("found only %d packages", len(packages))
	}
	for dir, imports := range packages {
		for _, w := range wrongImports(dir, imports) {
			t.Error(w)
		}
	}
}

// importsBelow collects the direct imports of every package, tests left out, by folder.
func importsBelow(t *testing.T, root string) map[string][]string {
	t.Helper()
	packages := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			packages[filepath.ToSlash(dir)] = append(packages[filepath.ToSlash(dir)], imported)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, imports := range packages {
		slices.Sort(imports)
		packages[dir] = slices.Compact(imports)
	}
	return packages
}

func TestWrongImportsAreSeen(t *testing.T) {
	for _, c := range []struct {
		dir, imported string
		wrong         bool
	}{
		{"engine/store", "opprof/engine/record", false},
		{"engine/store", "opprof/tui/chart", true},
		{"engine/new", "opprof/traces/kineto", true},
		{"traces/kineto", "opprof/engine/record", false},
		{"tui", "charm.land/bubbletea/v2", false},
		{"tui/panel", "charm.land/bubbletea/v2", false},
		{"cmd", "charm.land/bubbletea/v2", true},
		{"cmd", "github.com/spf13/cobra", false},
		{"cmdx", "github.com/spf13/cobra", true},
		{"tui", "os/exec", true},
		{"engine/unit", "opprof/engine/record", true},
		{"engine/tail", "opprof/testdata", true},
		{"cmd/session", "opprof/testdata", false},
	} {
		if got := len(wrongImports(c.dir, []string{c.imported})) > 0; got != c.wrong {
			t.Errorf("%s importing %s: wrong %t, want %t", c.dir, c.imported, got, c.wrong)
		}
	}
}
