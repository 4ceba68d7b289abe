package columnar

import "github.com/parquet-go/parquet-go"

// Column is one column of a table whose rows are of type R.
type Column[R any] struct {
	Name string
	Type string // as documents print it: int64, double, bool, string or int64[n]
	Unit string // "" for none
	Doc  string
	Null bool // values may be unknown

	node parquet.Node
	fill func(dst []parquet.Value, rows []R) []parquet.Value
}

// Int is a column of integers.
func Int[R any](name, unit, doc string, get func(*R) int64) Column[R] {
	return Column[R]{Name: name, Type: "int64", Unit: unit, Doc: doc, node: packed(),
		fill: func(dst []parquet.Value, rows []R) []parquet.Value {
			for i := range rows {
				dst = append(dst, parquet.Int64Value(get(&rows[i])))
			}
			return dst
		}}
}

// MaybeInt is a column of integers that may be unknown.
func MaybeInt[R any](name, unit, doc string, get func(*R) (v int64, known bool)) Column[R] {
	return maybe(name, "int64", unit, doc, packed(), func(r *R) (parquet.Value, bool) {
		v, known := get(r)
		return parquet.Int64Value(v), known
	})
}

// Bool is a column of truths.
func Bool[R any](name, doc string, get func(*R) bool) Column[R] {
	return Column[R]{Name: name, Type: "bool", Doc: doc, node: parquet.Leaf(parquet.BooleanType),
		fill: func(dst []parquet.Value, rows []R) []parquet.Value {
			for i := range rows {
				dst = append(dst, parquet.BooleanValue(get(&rows[i])))
			}
			return dst
		}}
}

// MaybeBool is a column of truths that may be unknown.
func MaybeBool[R any](name, doc string, get func(*R) (v, known bool)) Column[R] {
	return maybe(name, "bool", "", doc, parquet.Leaf(parquet.BooleanType), func(r *R) (parquet.Value, bool) {
		v, known := get(r)
		return parquet.BooleanValue(v), known
	})
}

// Float is a column of floating-point numbers.
func Float[R any](name, unit, doc string, get func(*R) float64) Column[R] {
	return Column[R]{Name: name, Type: "double", Unit: unit, Doc: doc, node: parquet.Leaf(parquet.DoubleType),
		fill: func(dst []parquet.Value, rows []R) []parquet.Value {
			for i := range rows {
				dst = append(dst, parquet.DoubleValue(get(&rows[i])))
			}
			return dst
		}}
}

// Text is a column of strings. Few distinct ones take next to no space.
func Text[R any](name, doc string, get func(*R) string) Column[R] {
	return Column[R]{Name: name, Type: "string", Doc: doc, node: dictionary(),
		fill: func(dst []parquet.Value, rows []R) []parquet.Value {
			for i := range rows {
				dst = append(dst, parquet.ByteArrayValue([]byte(get(&rows[i]))))
			}
			return dst
		}}
}

// MaybeText is a column of strings in which "" is unknown.
func MaybeText[R any](name, doc string, get func(*R) string) Column[R] {
	return maybe(name, "string", "", doc, dictionary(), func(r *R) (parquet.Value, bool) {
		v := get(r)
		return parquet.ByteArrayValue([]byte(v)), v != ""
	})
}

// Word is MaybeText for few words that are known beforehand; get gives the index of one, or -1.
func Word[R any](name, doc string, words []string, get func(*R) int) Column[R] {
	values := make([]parquet.Value, len(words))
	for i, w := range words {
		values[i] = parquet.ByteArrayValue([]byte(w))
	}
	return maybe(name, "string", "", doc, dictionary(), func(r *R) (parquet.Value, bool) {
		i := get(r)
		if i < 0 {
			return parquet.Value{}, false
		}
		return values[i], true
	})
}

// maybe is a column with nulls: a known value has the definition level 1.
func maybe[R any](name, typ, unit, doc string, node parquet.Node, get func(*R) (parquet.Value, bool)) Column[R] {
	return Column[R]{Name: name, Type: typ, Unit: unit, Doc: doc, Null: true, node: parquet.Optional(node),
		fill: func(dst []parquet.Value, rows []R) []parquet.Value {
			for i := range rows {
				if v, known := get(&rows[i]); known {
					dst = append(dst, v.Level(0, 1, 0))
				} else {
					dst = append(dst, parquet.Value{})
				}
			}
			return dst
		}}
}

func packed() parquet.Node {
	return parquet.Encoded(parquet.Leaf(parquet.Int64Type), &parquet.DeltaBinaryPacked)
}

func dictionary() parquet.Node { return parquet.Encoded(parquet.String(), &parquet.RLEDictionary) }
