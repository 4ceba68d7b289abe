package serverconf

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// lineOf finds the line that sets a key: the TOML library keeps no positions of values that parse. Line 1 where it cannot be told.
func lineOf(text string, key toml.Key) int {
	var table []string
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			name := strings.TrimLeft(line, "[")
			name, _, _ = strings.Cut(name, "]")
			table = parts(name)
			if slices.Equal(table, key) {
				return i + 1
			}
			continue
		}
		name, _, ok := strings.Cut(line, "=")
		if ok && !strings.HasPrefix(line, "#") && slices.Equal(slices.Concat(table, parts(name)), key) {
			return i + 1
		}
	}
	if len(key) > 1 {
		return lineOf(text, key[:len(key)-1])
	}
	return 1
}

func parts(dotted string) []string {
	out := strings.Split(dotted, ".")
	for i := range out {
		out[i] = strings.Trim(strings.TrimSpace(out[i]), `"'`)
	}
	return out
}

// nearest suggests the key that was probably meant: of the same table, within two edits or of the same beginning; else one of another
// table by that name. known are all keys with their tables, * standing for a name that the user chooses.
func nearest(key toml.Key, known map[string]bool) string {
	name, table := key[len(key)-1], key[:len(key)-1]
	best, distance := "", 3
	for _, k := range slices.Sorted(maps.Keys(known)) {
		at := strings.Split(k, ".")
		last := at[len(at)-1]
		d := EditDistance(name, last)
		if strings.HasPrefix(last, name) && len(name) > 2 {
			d = min(d, 1)
		}
		same := slices.EqualFunc(at[:len(at)-1], table, func(a, b string) bool { return a == b || a == "*" })
		if same {
			k = slices.Concat(table, toml.Key{last}).String()
		} else {
			d++
		}
		if d < distance && last != "*" {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// known are all keys of the server's section, with their tables.
func known() map[string]bool {
	out := map[string]bool{"campaign": true}
	addKeys(out, "", reflect.TypeFor[file]())
	return out
}

func addKeys(into map[string]bool, prefix string, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name := prefix + f.Tag.Get("toml")
		into[name] = true
		switch {
		case f.Type == reflect.TypeFor[toml.Primitive]():
		case f.Type.Kind() == reflect.Struct:
			addKeys(into, name+".", f.Type)
		case f.Type.Kind() == reflect.Map && f.Type.Elem().Kind() == reflect.Struct:
			addKeys(into, name+".*.", f.Type.Elem())
		}
	}
}

// EditDistance counts the insertions, deletions and replacements between two short words: how a misspelled key is told from the one that was
// meant.
func EditDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
