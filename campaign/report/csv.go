package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// WriteCSV writes the paired numbers of one cell as `opprof gate` reads them. Pairs that do not count are left out.
func (c *Cell) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"pair", "order", "metric", "off", "on", "better"}}
	for _, m := range c.metrics {
		better := "lower"
		if m.Higher {
			better = "higher"
		}
		for _, p := range m.Pairs {
			rows = append(rows, []string{p.ID, p.Order, cell(m.Name), strconv.FormatFloat(p.Off, 'g', -1, 64), strconv.FormatFloat(p.On, 'g', -1, 64), better})
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("cannot write results: %w", err)
	}
	return nil
}

// cell keeps a spreadsheet from taking a name for a formula, blanks before it or not.
func cell(text string) string {
	if bare := strings.TrimLeft(text, " \u00a0\n"); bare != "" && strings.ContainsAny(bare[:1], "=+-@\t\r") {
		return "'" + text
	}
	return text
}
