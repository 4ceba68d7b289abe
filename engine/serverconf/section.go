package serverconf

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/BurntSushi/toml"
)

// Section is another section of a campaign file, read as strictly as [server].
type Section struct {
	path, text, name string
	meta             toml.MetaData
}

// ReadSection reads the section of that name into a pointer to a struct with toml tags; what the file leaves out keeps its value. Unknown keys
// are an error with their line and the nearest key that exists. path is for messages.
func ReadSection(path, text, name string, into any) (*Section, error) {
	var all map[string]toml.Primitive
	meta, err := toml.Decode(text, &all)
	if err != nil {
		return nil, decodeError(path, text, err)
	}
	section, ok := all[name]
	if !ok {
		return nil, fmt.Errorf("cannot read configuration: %s has no [%s] section", path, name)
	}
	if err := meta.PrimitiveDecode(section, into); err != nil {
		return nil, decodeError(path, text, err)
	}
	s := &Section{path, text, name, meta}
	keys := map[string]bool{}
	addKeys(keys, name+".", reflect.TypeOf(into).Elem())
	var errs []error
	for _, key := range meta.Undecoded() {
		if key[0] == name {
			errs = append(errs, fmt.Errorf("%s:%d: unknown key %q%s", path, lineOf(text, key), key.String(), nearest(key, keys)))
		}
	}
	return s, errors.Join(errs...)
}

// Errorf is an error about a key of the section, with the line that sets it.
func (s *Section) Errorf(key []string, format string, args ...any) error {
	full := append(toml.Key{s.name}, key...)
	return fmt.Errorf("%s:%d: %s: %s", s.path, lineOf(s.text, full), full, fmt.Sprintf(format, args...))
}

// Has reports whether the file sets a key of the section.
func (s *Section) Has(key ...string) bool {
	return s.meta.IsDefined(append([]string{s.name}, key...)...)
}

// Names are the names that the user chose for the tables below a key, in the order of the file.
func (s *Section) Names(key string) []string {
	var out []string
	seen := map[string]bool{}
	for _, k := range s.meta.Keys() {
		if len(k) > 2 && k[0] == s.name && k[1] == key && !seen[k[2]] {
			seen[k[2]] = true
			out = append(out, k[2])
		}
	}
	return out
}
