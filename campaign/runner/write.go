package runner

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"opprof/campaign/report"
	"opprof/engine/rundir"
)

// WriteReport writes a report into a folder: report.json, report.md, report.html, and the paired numbers as report.csv, or report-CELL.csv
// for each cell of several.
func WriteReport(dir string, r *report.Report) error {
	files := []struct {
		name  string
		write func(io.Writer) error
	}{
		{"report.json", func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(r)
		}},
		{"report.md", r.Markdown},
		{"report.html", r.HTML},
	}
	for i := range r.Cells {
		name := "report.csv"
		if len(r.Cells) > 1 {
			name = fmt.Sprintf("report-%s.csv", r.Cells[i].Name)
		}
		files = append(files, struct {
			name  string
			write func(io.Writer) error
		}{name, r.Cells[i].WriteCSV})
	}
	for _, f := range files {
		if err := rundir.WriteAtomic(filepath.Join(dir, f.name), f.write); err != nil {
			return err
		}
	}
	return nil
}
