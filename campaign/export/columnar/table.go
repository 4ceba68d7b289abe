package columnar

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// Schema is the number of the layout; it is in the metadata of every file as opprof.schema.
const Schema = 1

const (
	// BatchRows are taken at once.
	BatchRows = 512
	// GroupRows is the size of a row group: what the engines that read it take as one unit of work, and all that is kept in memory.
	GroupRows = 240 * BatchRows
)

// Table is what one kind of file holds.
type Table[R any] struct {
	Name    string
	Doc     string
	Columns []Column[R]
}

// Field is a column as documents and metadata say it.
type Field struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Null bool   `json:"null"`
	Unit string `json:"unit"`
	Doc  string `json:"doc"`
}

// Fields are the columns in the order of the file.
func (t *Table[R]) Fields() []Field {
	fields := make([]Field, len(t.Columns))
	for i := range t.Columns {
		c := &t.Columns[i]
		fields[i] = Field{Name: c.Name, Type: c.Type, Null: c.Null, Unit: c.Unit, Doc: c.Doc}
	}
	return fields
}

// ordered is a group whose fields keep the order of the columns.
type ordered struct {
	parquet.Group
	names []string
}

func (g ordered) Fields() []parquet.Field {
	fields := g.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int { return slices.Index(g.names, a.Name()) - slices.Index(g.names, b.Name()) })
	return fields
}

func (t *Table[R]) schema() *parquet.Schema {
	g := ordered{Group: parquet.Group{}}
	for i := range t.Columns {
		g.Group[t.Columns[i].Name] = t.Columns[i].node
		g.names = append(g.names, t.Columns[i].Name)
	}
	return parquet.NewSchema(t.Name, g)
}

// Writer writes one file. Memory is bounded by a row group. Not for concurrent use.
type Writer[R any] struct {
	table  *Table[R]
	file   *parquet.GenericWriter[any]
	values []parquet.Value
	limit  int // rows of a group
	group  int // rows of the group that is being filled
	rows   int64
}

// NewWriter begins a file with row groups of groupRows, 0 for GroupRows. The pairs of meta go to its key-value metadata.
func NewWriter[R any](dst io.Writer, t *Table[R], meta map[string]string, groupRows int) (*Writer[R], error) {
	fields, err := json.Marshal(t.Fields())
	if err != nil {
		return nil, err
	}
	options := []parquet.WriterOption{t.schema(), parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		parquet.CreatedBy("opprof", strconv.Itoa(Schema), ""), parquet.DataPageStatistics(false),
		parquet.KeyValueMetadata("opprof.schema", strconv.Itoa(Schema)), parquet.KeyValueMetadata("opprof.table", t.Name),
		parquet.KeyValueMetadata("opprof.columns", string(fields))}
	for key, value := range meta {
		options = append(options, parquet.KeyValueMetadata(key, value))
	}
	return &Writer[R]{table: t, file: parquet.NewGenericWriter[any](dst, options...), limit: cmp.Or(groupRows, GroupRows)}, nil
}

// Write appends rows.
func (w *Writer[R]) Write(rows []R) error {
	for len(rows) > 0 {
		n := min(len(rows), BatchRows, w.limit-w.group)
		if err := w.batch(rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func (w *Writer[R]) batch(rows []R) error {
	for i, c := range w.file.ColumnWriters() {
		w.values = w.table.Columns[i].fill(w.values[:0], rows)
		if _, err := c.WriteRowValues(w.values); err != nil {
			return fmt.Errorf("cannot write column %s: %w", w.table.Columns[i].Name, err)
		}
	}
	w.group += len(rows)
	w.rows += int64(len(rows))
	if w.group < w.limit {
		return nil
	}
	w.group = 0
	return w.file.Flush()
}

// Rows is how many were written.
func (w *Writer[R]) Rows() int64 { return w.rows }

// Close ends the file; without it, the file is not readable.
func (w *Writer[R]) Close() error { return w.file.Close() }
