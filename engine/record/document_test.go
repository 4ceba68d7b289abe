package record

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRecordsDocument: docs/records.md names every field of every kind of line, every bin and every rule, and nothing else.
func TestRecordsDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/records.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, s := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(s, "\n")
		sections[title] = body
	}
	for title, want := range map[string][]string{
		"A step":                    slices.Concat(stepNames(), prefixFields),
		"header":                    headerFields,
		"profile":                   profileFields,
		"dummy_step":                dummyFields,
		"footer":                    slices.Concat(footerFields, foregroundFields),
		"What `opprof check` holds": invariantNames[:],
	} {
		var have []string
		for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(sections[title], -1) {
			have = append(have, row[1])
		}
		if !slices.Equal(have, want) {
			t.Errorf("%s has the rows\n%q, want\n%q", title, have, want)
		}
	}
	for field, edges := range map[string][]int64{"context_length_hist": contextEdges[:], "chunked_prefill.chunk_size_hist": chunkEdges[:], "chunked_prefill.chunk_tail_hist": chunkTailEdges[:]} {
		said := strings.Trim(strings.ReplaceAll(fmt.Sprint(edges), " ", ", "), "[]")
		if !regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(field) + "` \\| " + fmt.Sprint(len(edges)+1) + " of requests \\| .*upper edges " + said + ", and an open bin").Match(text) {
			t.Errorf("%s: the document does not say the edges %s", field, said)
		}
	}
}

// stepNames are the fields of a step, those of its objects behind the object's name. The two caches have a table of their own.
func stepNames() []string {
	objects := map[string][]string{"chunked_prefill": chunkFields, "queues": queueFields, "kv": kvFields, "prefix": cacheFields, "cudagraph": graphFields}
	var out []string
	for _, name := range stepFields {
		switch parts := objects[name]; {
		case name == "type": // a step has none
		case parts == nil:
			out = append(out, name)
		default:
			for _, part := range parts {
				out = append(out, name+"."+part)
			}
		}
	}
	return out
}
