package testdata

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestRecordingsAreWholeStreams(t *testing.T) {
	names := Recordings()
	if len(names) == 0 {
		t.Fatal("no recordings")
	}
	for _, name := range names {
		stream, err := Recording(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Split(bytes.TrimSuffix(stream, []byte("\n")), []byte("\n"))
		for i, line := range lines {
			if !json.Valid(line) {
				t.Errorf("%s:%d: not JSON", name, i+1)
			}
		}
		for at, want := range map[int]string{0: "header", len(lines) - 1: "footer"} {
			var line struct{ Type string }
			if err := json.Unmarshal(lines[at], &line); err != nil || line.Type != want {
				t.Errorf("%s:%d: type %q, want %q (%v)", name, at+1, line.Type, want, err)
			}
		}
	}
}

func TestNoSuchRecordingNamesThoseThatExist(t *testing.T) {
	_, err := Recording("h20")
	if err == nil {
		t.Fatal("no error")
	}
	for _, name := range Recordings() {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %s", err, name)
		}
	}
}

func TestEveryRecordingHasASource(t *testing.T) {
	sources, err := os.ReadFile("records/SOURCE.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Recordings() {
		if !strings.Contains(string(sources), "\n"+name+suffix+"\t") {
			t.Errorf("SOURCE.tsv says nothing about %s", name)
		}
	}
}
