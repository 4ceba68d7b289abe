package cmd

import (
	"cmp"
	"encoding"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"opprof/campaign/calibrate"
	"opprof/campaign/compare"
	"opprof/campaign/gate"
	"opprof/campaign/progress"
	"opprof/campaign/report"
	"opprof/campaign/roster"
	"opprof/campaign/runreport"
	"opprof/cmd/session"
	"opprof/engine/control"
	"opprof/engine/overlay"
	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/engine/supervisor"
	"opprof/traces/capture"
	"opprof/traces/experts"
)

var update = flag.Bool("update", false, "rewrite generated documents and goldens")

const jsonDoc = "../docs/json.md"

// docs/json.md is made of the types that are printed and of the comments on their fields.
func TestJSONDocument(t *testing.T) {
	d := &jsonDocument{comments: map[string]string{}, seen: map[reflect.Type]bool{}, named: map[string]reflect.Type{}}
	for _, file := range []string{
		"../traces/experts/report.go", "../traces/experts/balance.go", "../traces/experts/placement.go", "../campaign/calibrate/report.go", "../campaign/calibrate/question.go",
		"../campaign/calibrate/sample.go", "../campaign/calibrate/model.go", "../campaign/calibrate/table.go",
		"../engine/store/frame.go", "../engine/rundir/description.go", "../engine/record/line.go", "../engine/record/step.go",
		"../engine/record/check.go", "session/check.go", "../engine/alert/warning.go", "screen.go", "info.go", "../engine/control/control.go", "../engine/meter/reading.go", "../engine/vllm/ask.go", "attach_server.go", "list.go", "window.go",
		"../campaign/runreport/report.go", "../engine/rundir/manifest.go", "../traces/capture/json.go",
		"../campaign/compare/compare.go", "../campaign/compare/cell.go", "../campaign/compare/reading.go", "../campaign/compare/estimate.go",
		"export_parquet.go", "../campaign/export/parquet.go", "../campaign/export/dataset/dataset.go", "../campaign/compare/server.go", "../campaign/compare/verdict.go",
		"../campaign/roster/entry.go", "compact.go", "prune.go",
		"../engine/overlay/check.go", "../engine/supervisor/summary.go", "../campaign/progress/progress.go", "../campaign/gate/gate.go", "../campaign/report/report.go", "../campaign/report/input.go", "../campaign/report/pairs.go",
		"../campaign/report/cost.go", "search.go", "../engine/search/search.go", "note.go", "../engine/notes/notes.go",
	} {
		d.readComments(t, file)
	}
	d.text.WriteString(jsonDocHead)
	d.section("## `--once --json` of demo, attach and review", reflect.TypeFor[page]())
	d.section("## `attach URL --once --json`", reflect.TypeFor[serverReading]())
	d.section("## `check --json`", reflect.TypeFor[session.CheckReport]())
	d.section("## `trace --json`", reflect.TypeFor[capture.Report]())
	d.section("## `info --json`", reflect.TypeFor[facts]())
	d.section("## `status --json`", reflect.TypeFor[control.Status]())
	d.section("## `list --json`", reflect.TypeFor[runList]())
	d.section("## `search --json`", reflect.TypeFor[searchReport]())
	d.section("## `note --json`", reflect.TypeFor[noteList]())
	d.section("## `experts --json`", reflect.TypeFor[experts.Report]())
	d.section("## `calibrate --json`", reflect.TypeFor[calibrate.Report]())
	d.section("## `window arm --json` and `window list --json`", reflect.TypeFor[windowList]())
	d.section("## `runs --once --json`", reflect.TypeFor[roster.Roster]())
	d.section("## `compare --json`", reflect.TypeFor[compare.Comparison]())
	d.section("## `compact --json`", reflect.TypeFor[compactReport]())
	d.section("## `prune --json`", reflect.TypeFor[pruneReport]())
	d.section("## `gate --json`", reflect.TypeFor[gate.Decision]())
	d.section("## `campaign status --json` and `campaign attach --once --json`", reflect.TypeFor[progress.Campaign]())
	d.section("## `campaign report --json`", reflect.TypeFor[report.Report]())
	d.section("## `report --json`", reflect.TypeFor[runreport.Report]())
	d.section("## `export parquet --json`", reflect.TypeFor[exportReport]())
	d.section("## `patch check --json`", reflect.TypeFor[overlay.Report]())
	d.section("## `run.json` in a run's folder", reflect.TypeFor[rundir.Manifest]())
	d.section("## `windows/<n>/summary.json` in a run's folder", reflect.TypeFor[supervisor.Summary]())
	for _, missing := range d.untagged {
		t.Errorf("%s is printed without a name of its own: give it a json tag", missing)
	}
	if *update {
		if err := os.WriteFile(jsonDoc, []byte(d.text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(jsonDoc)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != d.text.String() {
		t.Errorf("%s is not what the types say: run go test ./cmd -run TestJSONDocument -update", jsonDoc)
	}
}

const jsonDocHead = `# JSON for scripts

Every ` + "`--json`" + ` prints one object with ` + "`schema`" + `, which is 1 here. New fields may be added under the same number; a script should ignore those it does
not know. Times are integer nanoseconds, ` + "`*_ns`" + ` since 1970 unless they are lengths of time. What is not known is ` + "`null`" + ` or as its line says, never 0.
The last two are files that a launched run keeps. This file is generated from the program's types.

`

type jsonDocument struct {
	text     strings.Builder
	comments map[string]string // package.Type.Field
	seen     map[reflect.Type]bool
	named    map[string]reflect.Type // by the name that the document has for it
	pending  []reflect.Type
	untagged []string
}

// packageOf names the package of a source file by its folder.
func packageOf(path string) string {
	if dir := filepath.Base(filepath.Dir(path)); dir != "." {
		return dir
	}
	return "cmd"
}

func (d *jsonDocument) readComments(t *testing.T, path string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		structure, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range structure.Fields.List {
			for _, name := range field.Names {
				d.comments[packageOf(path)+"."+spec.Name.Name+"."+name.Name] = strings.TrimSpace(cmp.Or(field.Comment.Text(), field.Doc.Text()))
			}
		}
		return true
	})
}

// section documents a type and, below it, every type that it leads to and that has not been documented yet.
func (d *jsonDocument) section(title string, root reflect.Type) {
	fmt.Fprintf(&d.text, "%s\n\n", title)
	if d.seen[root] {
		fmt.Fprintf(&d.text, "The fields of %s above.\n\n", d.nameOf(root))
		return
	}
	d.pending = []reflect.Type{root}
	for first := true; len(d.pending) > 0; first = false {
		t := d.pending[0]
		d.pending = d.pending[1:]
		if d.seen[t] {
			continue
		}
		d.seen[t] = true
		if !first {
			fmt.Fprintf(&d.text, "### %s\n\n", d.nameOf(t))
		}
		d.text.WriteString("| field | type | |\n|---|---|---|\n")
		d.fields(t)
		d.text.WriteString("\n")
	}
}

func (d *jsonDocument) fields(t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		if f.Anonymous {
			d.fields(f.Type)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if name == "" {
			d.untagged = append(d.untagged, t.Name()+"."+f.Name)
		}
		comment := strings.ReplaceAll(d.comments[filepath.Base(t.PkgPath())+"."+t.Name()+"."+f.Name], "\n", " ")
		kind := d.typeName(f.Type)
		if options == "omitempty" {
			kind += " or absent"
		}
		fmt.Fprintf(&d.text, "| `%s` | %s | %s |\n", name, kind, comment)
	}
}

// nameOf is a type's name, with its package where another type has taken that name before.
func (d *jsonDocument) nameOf(t reflect.Type) string {
	name := t.Name()
	if other, taken := d.named[name]; taken && other != t {
		name = filepath.Base(t.PkgPath()) + "." + name
	}
	d.named[name] = t
	return name
}

func (d *jsonDocument) typeName(t reflect.Type) string {
	if t == reflect.TypeFor[store.GraphSteps]() {
		return "object of integer by name"
	}
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return "string"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.typeName(t.Elem()) + " or null"
	case reflect.Slice:
		return "list of " + d.typeName(t.Elem())
	case reflect.Array:
		return fmt.Sprintf("%d of %s", t.Len(), d.typeName(t.Elem()))
	case reflect.Map:
		return "object of " + d.typeName(t.Elem()) + " by name"
	case reflect.Struct:
		d.pending = append(d.pending, t)
		return d.nameOf(t)
	case reflect.Float64:
		return "number"
	case reflect.Interface:
		return "value"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	}
	return "integer"
}
