package experts

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// literal reads the few Python literals of a NumPy header from the front of its text.
type literal struct{ rest string }

// parseHeader reads {'descr': '<u2', 'fortran_order': False, 'shape': (7, 48, 8), }: all three keys, in any order, and no others.
func parseHeader(text string) (header, error) {
	l := &literal{text}
	var h header
	seen := map[string]bool{}
	if !l.take("{") {
		return h, errors.New("the header is not a dictionary")
	}
	for !l.take("}") {
		key, err := l.text()
		if err != nil {
			return h, fmt.Errorf("header: %w", err)
		}
		if seen[key] {
			return h, fmt.Errorf("header: %q stands twice", key)
		}
		seen[key] = true
		if !l.take(":") {
			return h, fmt.Errorf("header: %q has no value", key)
		}
		if err := l.value(&h, key); err != nil {
			return h, fmt.Errorf("header: %s: %w", key, err)
		}
		if !l.take(",") && !strings.HasPrefix(l.rest, "}") {
			return h, errors.New("header: members are not separated by commas")
		}
	}
	if strings.TrimSpace(l.rest) != "" {
		return h, errors.New("header: text after the dictionary")
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return h, fmt.Errorf("header: %q is missing", key)
		}
	}
	return h, nil
}

func (l *literal) value(h *header, key string) (err error) {
	switch key {
	case "descr":
		h.descr, err = l.text()
	case "fortran_order":
		h.fortran, err = l.boolean()
	case "shape":
		h.shape, err = l.tuple()
	default:
		err = errors.New("not a key of a NumPy header")
	}
	return err
}

// take removes a mark and the blanks around it, if the mark comes next.
func (l *literal) take(mark string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(l.rest, " \t\n"), mark)
	if ok {
		l.rest = strings.TrimLeft(rest, " \t\n")
	}
	return ok
}

func (l *literal) text() (string, error) {
	for _, quote := range []string{"'", `"`} {
		rest, ok := strings.CutPrefix(l.rest, quote)
		if !ok {
			continue
		}
		s, after, ok := strings.Cut(rest, quote)
		if !ok {
			break
		}
		l.rest = strings.TrimLeft(after, " \t\n")
		return s, nil
	}
	return "", errors.New("expected a quoted string; structured elements are no routed ids")
}

func (l *literal) boolean() (bool, error) {
	switch {
	case l.take("True"):
		return true, nil
	case l.take("False"):
		return false, nil
	}
	return false, errors.New("expected True or False")
}

// maxAxes is more than any array of interest has.
const maxAxes = 8

func (l *literal) tuple() ([]int, error) {
	if !l.take("(") {
		return nil, errors.New("expected a tuple of sizes")
	}
	var out []int
	for !l.take(")") {
		digits := len(l.rest) - len(strings.TrimLeft(l.rest, "0123456789"))
		n, err := strconv.ParseInt(l.rest[:digits], 10, 32)
		if err != nil || len(out) == maxAxes {
			return nil, errors.New("expected a tuple of sizes, such as (7, 48, 8)")
		}
		out = append(out, int(n))
		l.rest = l.rest[digits:]
		l.take("L") // long integers of Python 2
		if !l.take(",") && !strings.HasPrefix(l.rest, ")") {
			return nil, errors.New("sizes are not separated by commas")
		}
	}
	return out, nil
}
