package cmd

import (
	"os"
	"strings"
	"testing"

	"opprof/tui/panel"
)

const definitions = "../docs/definitions.md"

// docs/definitions.md is what the screen explains.
func TestDefinitionsDocument(t *testing.T) {
	want := panel.Document()
	if *update {
		if err := os.WriteFile(definitions, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(definitions)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Errorf("%s is not what the screen explains: run go test ./cmd -run TestDefinitionsDocument -update", definitions)
	}
	if text, err := os.ReadFile(readme); err != nil || !strings.Contains(string(text), "docs/definitions.md") {
		t.Errorf("README does not lead to the definitions (%v)", err)
	}
}
