package cmd

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"opprof/campaign/export/columnar"
	"opprof/campaign/export/openmetrics"
	"opprof/campaign/export/tables"
)

const exportDoc = "../docs/export.md"

// docs/export.md lists the columns and metrics that the program writes.
func TestExportDocument(t *testing.T) {
	have, err := os.ReadFile(exportDoc)
	if err != nil {
		t.Fatal(err)
	}
	text := string(have)
	for name, part := range map[string]string{"tables": tablesPart(), "metrics": metricsPart()} {
		begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
		from, to := strings.Index(text, begin), strings.Index(text, end)
		if from < 0 || to < from {
			t.Fatalf("%s has no part %s", exportDoc, name)
		}
		text = text[:from+len(begin)] + part + text[to:]
	}
	if *update {
		if err := os.WriteFile(exportDoc, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text != string(have) {
		t.Errorf("%s is not what the program writes: run go test ./cmd -run TestExportDocument -update", exportDoc)
	}
	if text, err := os.ReadFile(readme); err != nil || !strings.Contains(string(text), "docs/export.md") {
		t.Errorf("README does not lead to the exports (%v)", err)
	}
}

func tablesPart() string {
	var b strings.Builder
	tableSection(&b, tables.Steps())
	tableSection(&b, tables.Events())
	tableSection(&b, tables.Windows())
	tableSection(&b, tables.Iterations())
	tableSection(&b, tables.Families())
	return b.String()
}

func tableSection[R any](b *strings.Builder, t *columnar.Table[R]) {
	fmt.Fprintf(b, "### %s\n\n%s\n\n| column | type | null | unit | |\n|---|---|---|---|---|\n", t.Name, t.Doc)
	for _, f := range t.Fields() {
		null := ""
		if f.Null {
			null = "yes"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", f.Name, f.Type, null, f.Unit, f.Doc)
	}
	b.WriteByte('\n')
}

func metricsPart() string {
	var b strings.Builder
	b.WriteString("| metric | type | unit | |\n|---|---|---|---|\n")
	for _, f := range openmetrics.Families() {
		name := f.Name
		if f.Kind == "counter" {
			name += "_total"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, f.Kind, f.Unit, f.Help)
	}
	return b.String()
}
