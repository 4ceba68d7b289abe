package record

import (
	"fmt"
	"math"
	"strconv"
)

// object walks over the members of one JSON object whose fields are known by name. Fields that are not known are skipped, whatever they
// hold; a known field that stands twice, and a required one that is missing, fail the line.
type object struct {
	path   string   // of its members in reasons: "" or "kv."
	fields []string // in the writer's order, at most 64
	need   uint64   // bit i: fields[i] is required
	seen   uint64
	at     int // the field in hand
	begun  bool
}

// all is the mask of the first n fields.
func all(n int) uint64 { return 1<<n - 1 }

// next moves to the next known field and reports whether there is one; then its value has to be read.
func (p *scanner) next(o *object) bool {
	for p.member(o) {
		k := p.expectedField(o)
		if k < 0 {
			k = o.find(p.key())
		}
		p.space()
		switch {
		case p.failed:
			return false
		case k < 0:
			p.skip()
		case o.seen>>k&1 != 0:
			p.fail(p.i, fmt.Sprintf("expected %s once, found it twice", o.path+o.fields[k]))
			return false
		default:
			o.seen |= 1 << k
			o.at = k
			return true
		}
	}
	return false
}

// expectedField moves behind the name and colon of the field after the last one, written plainly, and returns its number; -1 when
// something else stands there. It is a shortcut through key and find for the most likely case.
func (p *scanner) expectedField(o *object) int {
	k := o.at + 1
	if k >= len(o.fields) {
		return -1
	}
	name := o.fields[k]
	if end := p.i + len(name) + len(`"":`); end <= len(p.b) && p.b[p.i] == '"' && string(p.b[p.i+1:end-2]) == name &&
		p.b[end-2] == '"' && p.b[end-1] == ':' {
		p.i = end
		return k
	}
	return -1
}

// member moves to the name of the object's next member, and reports false behind the object's end.
func (p *scanner) member(o *object) bool {
	c := p.space()
	switch {
	case p.failed:
		return false
	case !o.begun:
		if c != '{' {
			p.expected(o.label())
			return false
		}
		p.i++
		p.depth++
		o.begun, o.at = true, -1
		if p.space() == '}' {
			return p.close(o)
		}
		return true
	case c == ',':
		p.i++
		p.space()
		return true
	case c == '}':
		return p.close(o)
	}
	p.expected("a comma or the end of " + o.label())
	return false
}

func (p *scanner) close(o *object) bool {
	p.i++
	p.depth--
	if missing := o.need &^ o.seen; missing != 0 {
		for k, name := range o.fields {
			if missing>>k&1 != 0 {
				p.fail(p.i-1, fmt.Sprintf("expected field %s, found the end of %s", o.path+name, o.label()))
			}
		}
	}
	return false
}

func (o *object) label() string {
	if o.path == "" {
		return "an object"
	}
	return "the object " + o.path[:len(o.path)-1]
}

// find returns the number of the field called name, or -1.
func (o *object) find(name []byte) int {
	for k, f := range o.fields {
		if f == string(name) {
			return k
		}
	}
	return -1
}

// wrong fails at the value of the field in hand.
func (p *scanner) wrong(o *object, what string) {
	p.expected(what + " in " + o.path + o.fields[o.at])
}

// integer reads an integer that fits 64 bits. 1.0 and 1e3 are no integers, as for encoding/json.
func (p *scanner) integer(o *object) int64 {
	v, end := number(p.b, p.i)
	if end == miss || end < len(p.b) && (p.b[end] == '.' || p.b[end]|0x20 == 'e') {
		return p.rareInteger(o)
	}
	p.i = end
	return v
}

// rareInteger reads negative integers and finds the reason where there is no integer.
func (p *scanner) rareInteger(o *object) int64 {
	end := numberEnd(p.b, p.i)
	if end == miss {
		p.wrong(o, "an integer")
		return 0
	}
	v, err := strconv.ParseInt(string(p.b[p.i:end]), 10, 64)
	if err != nil {
		p.wrong(o, "an integer of 64 bits")
		return 0
	}
	p.i = end
	return v
}

// count reads an integer, or null as zero and unknown.
func (p *scanner) count(o *object) (v int64, known bool) {
	if p.word("null") {
		return 0, false
	}
	return p.integer(o), !p.failed
}

// float reads a number that fits a float64.
func (p *scanner) float(o *object) float64 {
	f, end := decimal(p.b, p.i)
	if end == miss {
		p.wrong(o, "a number that fits a float64")
		return math.NaN()
	}
	p.i = end
	return f
}

func (p *scanner) boolean(o *object) bool {
	switch {
	case p.word("true"):
		return true
	case p.word("false"):
	default:
		p.wrong(o, "true or false")
	}
	return false
}

// str reads a string; it is valid until the next string is read.
func (p *scanner) str(o *object) []byte {
	if p.i >= len(p.b) || p.b[p.i] != '"' {
		p.wrong(o, "a string")
		return nil
	}
	return p.text()
}

// words reads a string, or null as the empty one.
func (p *scanner) words(o *object) string {
	if p.word("null") {
		return ""
	}
	return string(p.str(o))
}

// array reads an array of exactly len(into) integers.
func (p *scanner) array(o *object, into []int64) {
	if p.i >= len(p.b) || p.b[p.i] != '[' {
		p.wrong(o, fmt.Sprintf("an array of %d integers", len(into)))
		return
	}
	p.i++
	p.space()
	for k := range into {
		if k > 0 {
			if p.space() != ',' {
				p.wrong(o, fmt.Sprintf("%d integers", len(into)))
				return
			}
			p.i++
			p.space()
		}
		if into[k] = p.integer(o); p.failed {
			return
		}
	}
	if p.space() != ']' {
		p.wrong(o, fmt.Sprintf("%d integers and the end", len(into)))
		return
	}
	p.i++
}
