package gate

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
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
	var metrics []Metric
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return metrics, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", name, err)
		}
		line, _ := in.FieldPos(0)
		if metrics, err = addRow(metrics, row, at); err != nil {
			return nil, fmt.Errorf("cannot read %s: line %d: %w", name, line, err)
		}
	}
}

func addRow(metrics []Metric, row []string, at map[string]int) ([]Metric, error) {
	field := func(c string) string {
		if i := at[c]; i < len(row) {
			return strings.TrimSpace(row[i])
		}
		return ""
	}
	p := Pair{ID: field("pair"), Order: strings.ToUpper(field("order")), Off: parse(field("off")), On: parse(field("on"))}
	switch {
	case field("metric") == "":
		return nil, errors.New("no metric is named")
	case p.ID == "":
		return nil, errors.New("no pair is named")
	case p.Order != "AB" && p.Order != "BA":
		return nil, fmt.Errorf("order is %q: expected AB (off first) or BA (on first)", field("order"))
	}
	var higher bool
	switch strings.ToLower(field("better")) {
	case "higher":
		higher = true
	case "lower":
	default:
		return nil, fmt.Errorf("better is %q: expected higher or lower", field("better"))
	}
	i := slices.IndexFunc(metrics, func(m Metric) bool { return m.Name == field("metric") })
	if i < 0 {
		metrics = append(metrics, Metric{Name: field("metric"), Higher: higher})
		i = len(metrics) - 1
	}
	m := &metrics[i]
	if m.Higher != higher {
		return nil, fmt.Errorf("metric %s is better higher in one row and lower in another", m.Name)
	}
	if slices.ContainsFunc(m.Pairs, func(q Pair) bool { return q.ID == p.ID }) {
		return nil, fmt.Errorf("pair %s of metric %s stands twice", p.ID, m.Name)
	}
	m.Pairs = append(m.Pairs, p)
	return metrics, nil
}

func parse(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}
