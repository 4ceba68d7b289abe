package gate

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// columns of a results file; others are passed over.
var columns = []string{"pair", "order", "metric", "off", "on", "better"}

// ReadCSV reads paired results: pair,order,metric,off,on,better, one row a pair and metric, the columns in any order. A number that cannot
// be read is NaN: the pair is then no measurement, which the decision says; a broken table is an error with its line.
func ReadCSV(r io.Reader, name string) ([]Metric, error) {
	in := csv.NewReader(r)
	in.TrimLeadingSpace = true
	in.FieldsPerRecord = -1
	head, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cannot read %s: it is empty: expected a first line %s", name, strings.Join(columns, ","))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: no header line: %w", name, err)
	}
	at := map[string]int{}
	for i, h := range head {
		at[strings.ToLower(strings.TrimSpace(strings.TrimPrefix(h, "\ufeff")))] = i
	}
	for _, c := range columns {
		if _, ok := at[c]; !ok {
			return nil, fmt.Errorf("cannot read %s: line 1 has no column %q: expected %s", name, c, strings.Join(columns, ","))
		}
	}
	rows := results{at: at, metric: map[string]int{}, seen: map[[2]string]bool{}, order: map[string]string{}}
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows.metrics, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", name, err)
		}
		line, _ := in.FieldPos(0)
		if err := rows.add(row); err != nil {
			return nil, fmt.Errorf("cannot read %s: line %d: %w", name, line, err)
		}
	}
}

// results are the rows that were read.
type results struct {
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

func (t *results) add(row []string) error {
	field := func(c string) string {
		if i := t.at[c]; i < len(row) {
			return strings.TrimSpace(row[i])
		}
		return ""
	}
	p := Pair{ID: field("pair"), Order: strings.ToUpper(field("order")), Off: parse(field("off")), On: parse(field("on"))}
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
