package gate

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"opprof/engine/unit"
)

// columns of a results file; others are passed over.
var columns = []string{"pair", "order", "metric", "off", "on", "better"}

// ReadCSV reads paired results: pair,order,metric,off,on,better, one row a pair and metric, the columns in any order. A number that cannot
// be read is NaN: the pair is then no measurement, which the decision says; a broken table is an error with its line.
func ReadCSV(r io.Reader, name string) ([]Metric, error) {
	in := csv.NewReader(withoutMark(r))
	in.TrimLeadingSpace = true
	in.FieldsPerRecord = -1
	head, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cannot read %s: it is empty: expected a first line %s", name, strings.Join(columns, ","))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: no header line: %w", name, err)
	}
	at, err := places(head)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: line 1 %w", name, err)
	}
	rows := results{name: name, at: at, metric: map[string]int{}, seen: map[[2]string]bool{}, order: map[string]string{}}
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows.metrics, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", name, err)
		}
		line, _ := in.FieldPos(0)
		if err := rows.add(row, line); err != nil {
			return nil, fmt.Errorf("cannot read %s: line %d: %w", name, line, err)
		}
	}
}

// withoutMark passes over a byte order mark, behind which a quote would not count as one.
func withoutMark(r io.Reader) io.Reader {
	in := bufio.NewReader(r)
	if mark := []byte("\ufeff"); peeks(in, mark) {
		_, _ = in.Discard(len(mark))
	}
	return in
}

func peeks(in *bufio.Reader, mark []byte) bool {
	b, _ := in.Peek(len(mark))
	return bytes.Equal(b, mark)
}

// places are the columns that a table needs, by name.
func places(head []string) (map[string]int, error) {
	at := map[string]int{}
	for i, h := range head {
		h = strings.ToLower(strings.TrimSpace(h))
		if _, ok := at[h]; ok && slices.Contains(columns, h) {
			return nil, fmt.Errorf("has two columns %q: expected %s, each once", h, strings.Join(columns, ","))
		}
		at[h] = i
	}
	for _, c := range columns {
		if _, ok := at[c]; !ok {
			return nil, fmt.Errorf("has no column %q: expected %s, found %s", c, strings.Join(columns, ","), beginning(strings.Join(head, ",")))
		}
	}
	return at, nil
}

// beginning is a text of a file as it may be quoted in a message.
func beginning(s string) string {
	const most = 60
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}

// results are the rows that were read.
type results struct {
	name    string         // of the file
	at      map[string]int // columns
	metrics []Metric
	metric  map[string]int     // by name
	seen    map[[2]string]bool // metric and pair
	order   map[string]string  // of a pair
}

const (
	// MaxPairs is how many pairs of a metric are read.
	MaxPairs = 10000
	// nameMax is how long the name of a metric or a pair may be.
	nameMax = 200
)

func (t *results) add(row []string, line int) error {
	for _, c := range columns {
		if t.at[c] >= len(row) {
			return fmt.Errorf("it has %s and none for %s: expected one for each column of line 1", unit.Counted(len(row), "cell"), c)
		}
	}
	field := func(c string) string { return strings.TrimSpace(row[t.at[c]]) }
	p := Pair{ID: field("pair"), Order: strings.ToUpper(field("order")), Off: parse(field("off")), On: parse(field("on"))}
	if !positive(p.Off) || !positive(p.On) {
		p.Source = fmt.Sprintf("%s:%d has off %s and on %s", t.name, line, beginning(field("off")), beginning(field("on")))
	}
	name := field("metric")
	switch {
	case name == "":
		return errors.New("no metric is named")
	case p.ID == "":
		return errors.New("no pair is named")
	case max(len(name), len(p.ID)) > nameMax:
		return fmt.Errorf("metric and pair have names of %d and %d bytes: expected at most %d", len(name), len(p.ID), nameMax)
	case p.Order != "AB" && p.Order != "BA":
		return fmt.Errorf("order is %q: expected AB (off first) or BA (on first)", field("order"))
	}
	higher, err := direction(field("better"))
	if err != nil {
		return err
	}
	i, ok := t.metric[name]
	if !ok {
		i = len(t.metrics)
		t.metric[name] = i
		t.metrics = append(t.metrics, Metric{Name: name, Higher: higher})
	}
	m := &t.metrics[i]
	switch before := t.order[p.ID]; {
	case m.Higher != higher:
		return fmt.Errorf("metric %s is better higher in one row and lower in another", name)
	case t.seen[[2]string{name, p.ID}]:
		return fmt.Errorf("pair %s of metric %s stands twice", p.ID, name)
	case before != "" && before != p.Order:
		return fmt.Errorf("pair %s has order %s here and %s in another row", p.ID, p.Order, before)
	case len(m.Pairs) == MaxPairs:
		return fmt.Errorf("metric %s has more than %d pairs", name, MaxPairs)
	}
	t.seen[[2]string{name, p.ID}], t.order[p.ID] = true, p.Order
	m.Pairs = append(m.Pairs, p)
	return nil
}

// direction reports whether higher is better.
func direction(better string) (higher bool, err error) {
	switch strings.ToLower(better) {
	case "higher":
		return true, nil
	case "lower":
		return false, nil
	}
	return false, fmt.Errorf("better is %q: expected higher or lower", better)
}

func parse(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}
