package experts

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func FuzzReadNPY(f *testing.F) {
	f.Add(npy(head("<u2", "False", "(1, 1, 2)"), 1, 0, 2, 0))
	f.Add(npy(head(">i8", "True", "(0, 3, 2)")))
	f.Add([]byte(magic + "\x03\x00\x02\x00\x00\x00{}"))
	f.Fuzz(func(t *testing.T, file []byte) {
		a, err := ReadNPY(bytes.NewReader(file), 1<<16)
		if err != nil {
			return
		}
		l := NewLoad(0)
		if err := l.Add(a); err != nil {
			t.Fatal(err)
		}
		var counted int64
		for _, c := range l.All() {
			counted += c
		}
		var rows int64
		for _, n := range l.Rows {
			rows += n
		}
		if counted+l.OutOfRange != rows*int64(a.TopK) {
			t.Fatalf("%d counted and %d out of range, of %d rows of %d", counted, l.OutOfRange, rows, a.TopK)
		}
		if _, err := json.Marshal(NewReport(l, nil, nil)); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzReadResponses(f *testing.F) {
	f.Add(responseOf(`{"prompt_tokens":1,"completion_tokens":2}`, fileOf([][][]uint16{{{1, 2}}, {{3, 4}}})))
	f.Add(`{"choices":[{"routed_experts":null}]} {`)
	f.Fuzz(func(t *testing.T, text string) {
		arrays := 0
		_ = ReadResponses(strings.NewReader(text), 1<<16, func(a *Array, err error) {
			if (a == nil) == (err == nil) {
				t.Fatal("an array or an error, one of them")
			}
			arrays++
		})
		if arrays > len(text) {
			t.Fatal("more arrays than bytes")
		}
	})
}
