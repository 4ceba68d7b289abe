package runner

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"opprof/campaign/plan"
	"opprof/engine/journal"
)

// Lists that hold nothing are empty and never null, so that what reads the JSON can go through them.
func TestListsAreNeverNull(t *testing.T) {
	source := "[server]\nmodel = 'm'\n[campaign.load.a]\n"
	p, err := plan.Parse("c.toml", source)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "c")
	if err := Create(dir, []byte(source), p, journal.SystemClock{}); err != nil {
		t.Fatal(err)
	}
	r, err := Report(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{stand(t, dir), r} {
		if null := nullLists(reflect.ValueOf(v), ""); len(null) > 0 {
			t.Errorf("%T: null are%s", v, strings.Join(null, ""))
		}
	}
}

// nullLists are the paths of the lists of v that JSON would show as null.
func nullLists(v reflect.Value, path string) (null []string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return nullLists(v.Elem(), path)
		}
	case reflect.Slice:
		if v.IsNil() {
			return []string{" " + path}
		}
		for i := range v.Len() {
			null = append(null, nullLists(v.Index(i), path)...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if name != "" && name != "-" {
				null = append(null, nullLists(v.Field(i), path+"."+name)...)
			}
		}
	}
	return null
}
