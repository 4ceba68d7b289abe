package columnar

import (
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// List is a column of n integers a row.
func List[R any](name, unit, doc string, n int, get func(*R) []int64) Column[R] {
	return Column[R]{Name: name, Type: "int64[" + strconv.Itoa(n) + "]", Unit: unit, Doc: doc, node: parquet.List(packed()),
		fill: func(dst []parquet.Value, rows []R) []parquet.Value {
			for i := range rows {
				dst = appendList(dst, get(&rows[i])[:n], 1)
			}
			return dst
		}}
}

// MaybeList is a column of n integers a row, or none where they are unknown; get gives nil then.
func MaybeList[R any](name, unit, doc string, n int, get func(*R) []int64) Column[R] {
	return Column[R]{Name: name, Type: "int64[" + strconv.Itoa(n) + "]", Unit: unit, Doc: doc, Null: true, node: parquet.Optional(parquet.List(packed())),
		fill: func(dst []parquet.Value, rows []R) []parquet.Value {
			for i := range rows {
				if values := get(&rows[i]); values != nil {
					dst = appendList(dst, values[:n], 2)
				} else {
					dst = append(dst, parquet.Value{})
				}
			}
			return dst
		}}
}

// appendList appends one list at its definition level: its first value begins a row, the others repeat.
func appendList(dst []parquet.Value, values []int64, level int) []parquet.Value {
	repeat := 0
	for _, v := range values {
		dst = append(dst, parquet.Int64Value(v).Level(repeat, level, 0))
		repeat = 1
	}
	return dst
}
