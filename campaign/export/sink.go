package export

import (
	"opprof/campaign/export/columnar"
	"opprof/campaign/export/dataset"
)

// sink is one table of one engine while its stream is read. The file is made with its first row.
type sink[R any] struct {
	table  *columnar.Table[R]
	engine string
	meta   map[string]string
	group  int // rows of a row group; 0 is the usual number
	rows   []R
	file   *dataset.File
	out    *columnar.Writer[R]
}

// add takes a row.
func (s *sink[R]) add(to *dataset.Export, row *R) error {
	if s.rows == nil {
		s.rows = make([]R, 0, columnar.BatchRows)
	}
	s.rows = append(s.rows, *row)
	if len(s.rows) < columnar.BatchRows {
		return nil
	}
	return s.flush(to)
}

func (s *sink[R]) flush(to *dataset.Export) error {
	if len(s.rows) == 0 {
		return nil
	}
	if s.out == nil {
		file, err := to.Create(s.table.Name, s.engine)
		if err != nil {
			return err
		}
		if s.out, err = columnar.NewWriter(file, s.table, s.meta, s.group); err != nil {
			return err
		}
		s.file = file
	}
	err := s.out.Write(s.rows)
	clear(s.rows)
	s.rows = s.rows[:0]
	return err
}

// end closes the file; a sink without rows has none.
func (s *sink[R]) end(to *dataset.Export) error {
	if err := s.flush(to); err != nil || s.out == nil {
		return err
	}
	if err := s.out.Close(); err != nil {
		return err
	}
	return s.file.Close(s.out.Rows())
}
