package columnar

import (
	"bytes"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"
)

type row struct {
	n     int64
	maybe *int64
	yes   bool
	truth *bool
	real  float64
	text  string
	word  int
	list  [3]int64
	tail  []int64
}

func table() *Table[row] {
	return &Table[row]{Name: "rows", Columns: []Column[row]{
		Text("z_text", "", func(r *row) string { return r.text }),
		Int("n", "ns", "a number", func(r *row) int64 { return r.n }),
		MaybeInt("maybe", "", "", func(r *row) (int64, bool) {
			if r.maybe == nil {
				return 0, false
			}
			return *r.maybe, true
		}),
		Bool("yes", "", func(r *row) bool { return r.yes }),
		MaybeBool("truth", "", func(r *row) (bool, bool) {
			if r.truth == nil {
				return false, false
			}
			return *r.truth, true
		}),
		Float("real", "", "", func(r *row) float64 { return r.real }),
		MaybeText("maybe_text", "", func(r *row) string { return r.text }),
		Word("word", "", []string{"NONE", "FULL"}, func(r *row) int { return r.word }),
		List("list", "", "", 3, func(r *row) []int64 { return r.list[:] }),
		MaybeList("tail", "", "", 2, func(r *row) []int64 { return r.tail }),
	}}
}

// plain is a row as another program's reader sees it.
type plain struct {
	Text      string   `parquet:"z_text"`
	N         int64    `parquet:"n"`
	Maybe     *int64   `parquet:"maybe"`
	Yes       bool     `parquet:"yes"`
	Truth     *bool    `parquet:"truth"`
	Real      float64  `parquet:"real"`
	MaybeText *string  `parquet:"maybe_text"`
	Word      *string  `parquet:"word"`
	List      []int64  `parquet:"list,list"`
	Tail      *[]int64 `parquet:"-"`
}

func drawRow(t *rapid.T) row {
	r := row{n: rapid.Int64().Draw(t, "n"), yes: rapid.Bool().Draw(t, "yes"), real: rapid.Float64().Draw(t, "real"),
		text: rapid.StringN(0, 6, 24).Draw(t, "text"), word: rapid.IntRange(-1, 1).Draw(t, "word")}
	if rapid.Bool().Draw(t, "known") {
		n := rapid.Int64().Draw(t, "maybe")
		r.maybe, r.truth, r.tail = &n, &r.yes, []int64{r.n, n}
	}
	for i := range r.list {
		r.list[i] = rapid.Int64Range(-3, 1<<40).Draw(t, "list")
	}
	return r
}

func write(t *rapid.T, rows []row, group int) []byte {
	var b bytes.Buffer
	w, err := NewWriter(&b, table(), map[string]string{"opprof.run": "a=b/c"}, group)
	if err != nil {
		t.Fatal(err)
	}
	for chunk := range slices.Chunk(rows, 7) {
		if err := w.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if w.Rows() != int64(len(rows)) {
		t.Fatalf("wrote %d rows of %d", w.Rows(), len(rows))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.Custom(drawRow), 0, 40).Draw(t, "rows")
		group := rapid.IntRange(1, 20).Draw(t, "group")
		data := write(t, rows, group)
		f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if want := (len(rows) + group - 1) / group; len(f.RowGroups()) != want {
			t.Fatalf("%d row groups of %d rows, want %d", len(f.RowGroups()), group, want)
		}
		got := make([]plain, len(rows))
		if n, err := parquet.NewGenericReader[plain](f).Read(got); n != len(rows) || err != nil && err != io.EOF {
			t.Fatal(n, err)
		}
		tails := lists(t, f, "tail")
		for i := range rows {
			equal(t, &rows[i], &got[i], tails[i])
		}
	})
}

// lists reads a column of nullable lists, value by value.
func lists(t *rapid.T, f *parquet.File, name string) [][]int64 {
	var out [][]int64
	leaf, _ := f.Schema().Lookup(name, "list", "element")
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, 16)
		for {
			n, err := rows.ReadRows(buf)
			for _, r := range buf[:n] {
				var list []int64
				for _, v := range r {
					if v.Column() == leaf.ColumnIndex && !v.IsNull() {
						list = append(list, v.Int64())
					}
				}
				out = append(out, list)
			}
			if err != nil {
				break
			}
		}
		_ = rows.Close()
	}
	return out
}

func equal(t *rapid.T, want *row, got *plain, tail []int64) {
	word := map[int]string{0: "NONE", 1: "FULL"}[want.word]
	switch {
	case got.N != want.n, got.Yes != want.yes, got.Text != want.text, !same(got.Real, want.real), !slices.Equal(got.List, want.list[:]), !slices.Equal(tail, want.tail),
		(got.Maybe == nil) != (want.maybe == nil), got.Maybe != nil && *got.Maybe != *want.maybe, (got.Truth == nil) != (want.truth == nil),
		got.Truth != nil && *got.Truth != *want.truth, (got.MaybeText == nil) != (want.text == ""), got.MaybeText != nil && *got.MaybeText != want.text,
		(got.Word == nil) != (want.word < 0), got.Word != nil && *got.Word != word:
		t.Fatalf("wrote %+v, read %+v and %v", want, got, tail)
	}
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func TestAFileSaysWhatItHolds(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, table(), map[string]string{"opprof.run": "a=b/c"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"opprof.schema": "1", "opprof.table": "rows", "opprof.run": "a=b/c"} {
		if got, ok := f.Lookup(key); !ok || got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	var names []string
	for _, field := range f.Schema().Fields() {
		names = append(names, field.Name())
	}
	if names[0] != "z_text" || names[1] != "n" || len(names) != len(table().Columns) {
		t.Errorf("the columns are %v: want those of the table in its order", names)
	}
	if f := table().Fields()[1]; f != (Field{Name: "n", Type: "int64", Unit: "ns", Doc: "a number"}) {
		t.Errorf("a field is %+v", f)
	}
}
