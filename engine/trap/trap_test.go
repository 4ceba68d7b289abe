package trap_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"opprof/engine/trap"
)

func deep(n int) int {
	var none []int
	if n == 0 {
		return none[3]
	}
	return deep(n-1) + 1
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name  string
		work  func() error
		says  string
		panic bool
	}{
		{"no error", func() error { return nil }, "", false},
		{"an error passes", func() error { return io.EOF }, "EOF", false},
		{"a text", func() error { panic("oh") }, "oh", true},
		{"an error as value", func() error { panic(io.ErrNoProgress) }, "multiple Read", true},
		{"an index far below", func() error { deep(20); return nil }, "trap_test.deep (trap_test.go:", true},
		{"a nil map", func() error { put(nil); return nil }, "nil map", true},
	} {
		err := trap.Run(c.work)
		var p *trap.Panic
		switch {
		case err == nil && c.says != "", err != nil && !strings.Contains(err.Error(), c.says):
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		case errors.As(err, &p) != c.panic:
			t.Errorf("%s: a panic %v, want %v", c.name, p != nil, c.panic)
		case p != nil && (!strings.Contains(string(p.Stack), "trap_test.go") || strings.Contains(p.Error(), "\n")):
			t.Errorf("%s: %q\n%s", c.name, p.Error(), p.Stack)
		}
	}
	if err := trap.Run(func() error { panic(io.EOF) }); !errors.Is(err, io.EOF) {
		t.Errorf("%v is not the error that it was", err)
	}
}

func put(m map[string]int) { m["x"] = 1 }
