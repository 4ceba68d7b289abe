package openmetrics

import (
	"bytes"
	"strconv"
	"strings"
)

// ContentType is that of what Write gives.
const ContentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// kind is the type of a family.
type kind string

const (
	gauge     kind = "gauge"
	counter   kind = "counter"
	histogram kind = "histogram"
)

// family is a metric family: its name without the suffixes of its samples.
type family struct {
	name string
	kind kind
	unit string // the name ends in it; "" for none
	help string
}

// text is an exposition while it is put together.
type text struct{ bytes.Buffer }

// begin writes the head of a family.
func (t *text) begin(f family) {
	t.WriteString("# TYPE " + f.name + " " + string(f.kind) + "\n")
	if f.unit != "" {
		t.WriteString("# UNIT " + f.name + " " + f.unit + "\n")
	}
	t.WriteString("# HELP " + f.name + " " + escape(f.help) + "\n")
}

// sample writes one sample. labels are names and values in turn.
func (t *text) sample(name, value string, labels ...string) {
	t.WriteString(name)
	for i := 0; i+1 < len(labels); i += 2 {
		separator := ","
		if i == 0 {
			separator = "{"
		}
		t.WriteString(separator + labels[i] + `="` + escape(labels[i+1]) + `"`)
	}
	if len(labels) > 0 {
		t.WriteByte('}')
	}
	t.WriteString(" " + value + "\n")
}

// escape makes text from outside a label's value or a help text: valid UTF-8 on one line.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\ufffd"))
}

func integer(v int64) string { return strconv.FormatInt(v, 10) }

func real(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// seconds prints nanoseconds as seconds, exactly.
func seconds(ns int64) string {
	sign, rest := "", uint64(ns)
	if ns < 0 {
		sign, rest = "-", -uint64(ns)
	}
	fraction := strconv.FormatUint(rest%1e9+1e9, 10)[1:]
	return sign + strconv.FormatUint(rest/1e9, 10) + "." + fraction
}
