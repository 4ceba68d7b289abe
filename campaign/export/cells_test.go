package export

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// cells are the values of a table by column: int64, float64, bool, string, []int64 or nil.
type cells map[string][]any

// read reads all files of a table below an export folder.
func read(t testing.TB, dir, table string) cells {
	t.Helper()
	out := cells{}
	err := filepath.WalkDir(filepath.Join(dir, table), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".parquet") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return err
		}
		return out.add(f)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}

func (c cells) add(f *parquet.File) error {
	names := f.Schema().Columns()
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, 64)
		for {
			n, err := rows.ReadRows(buf)
			for _, row := range buf[:n] {
				for column, values := range byColumn(row, len(names)) {
					name := names[column]
					c[name[0]] = append(c[name[0]], cell(values, len(name) > 1))
				}
			}
			if err != nil {
				break
			}
		}
		if err := rows.Close(); err != nil {
			return err
		}
	}
	return nil
}

func byColumn(row parquet.Row, n int) [][]parquet.Value {
	out := make([][]parquet.Value, n)
	for _, v := range row {
		out[v.Column()] = append(out[v.Column()], v)
	}
	return out
}

func cell(values []parquet.Value, list bool) any {
	if values[0].IsNull() {
		return nil
	}
	if list {
		var out []int64
		for _, v := range values {
			out = append(out, v.Int64())
		}
		return out
	}
	switch v := values[0]; v.Kind() {
	case parquet.Boolean:
		return v.Boolean()
	case parquet.Double:
		return v.Double()
	case parquet.ByteArray:
		return string(v.ByteArray())
	default:
		return v.Int64()
	}
}
