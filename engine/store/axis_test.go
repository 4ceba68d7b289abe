package store

import "testing"

func TestLadder(t *testing.T) {
	tierOK := 0
	for n, last := int64(1), int64(0); n < 1<<50; n = nextRung(n) {
		if last > 1 && (n*2 > last*3 || n <= last) {
			t.Fatalf("rung %d after %d", n, last)
		}
		last = n
		if n >= 512 && n*baseRungNS%second == 0 {
			tierOK++
		}
	}
	if second%baseRungNS != 0 || tierOK < 40 {
		t.Errorf("%d rungs of whole seconds", tierOK)
	}
}

func TestAxis(t *testing.T) {
	run := steady(10000) // 100 s
	newest := int64(wallNS + 10001*10e6)
	for _, c := range []struct {
		name      string
		q         Query
		columns   int
		bucketNS  int64
		holds, to int64 // a time in the last column
	}{
		{"60 s", Query{Columns: 120, SpanNS: 60 * second}, 120, second / 2, newest, 0},
		{"between two rungs", Query{Columns: 100, SpanNS: 60 * second}, 100, second * 3 / 4, newest, 0},
		{"narrowest", Query{Columns: 10, SpanNS: 1}, 10, baseRungNS, newest, 0},
		{"at a cursor", Query{Columns: 10, SpanNS: 10 * second, AtNS: wallNS + 50e9}, 10, second, wallNS + 50e9, 0},
		{"wider than the run", Query{Columns: 10, SpanNS: 10000 * second}, 10, 1024 * second, newest, 0},
		{"whole run", Query{Columns: 60}, 59, second * 7 / 4, newest, 0},
		{"whole run, cursor inside", Query{Columns: 60, AtNS: wallNS + 50e9}, 59, second * 7 / 4, newest, 0},
		{"whole run that grows", Query{Columns: 60, NowNS: newest}, 51, 2 * second, newest, 0},
		{"one column", Query{Columns: 1}, 1, 128 * second, newest, 0},
		{"while nothing completes the picture moves on", Query{Columns: 60, SpanNS: 60 * second, NowNS: newest + 5e9}, 60, second, newest + 5e9, 0},
		{"but keeps the newest step", Query{Columns: 60, SpanNS: 60 * second, NowNS: newest + 5000e9}, 60, second, newest + 15e9, 0},
	} {
		f := run.Snapshot().Frame(c.q)
		if len(f.Columns) != c.columns || f.BucketNS != c.bucketNS || f.ToNS-f.BucketNS > c.holds || f.ToNS <= c.holds || f.ToNS%f.BucketNS != 0 {
			t.Errorf("%s: %d columns of %d ns to %d", c.name, len(f.Columns), f.BucketNS, f.ToNS)
		}
		if f.Live != (c.q.AtNS == 0) {
			t.Errorf("%s: live %v", c.name, f.Live)
		}
	}
}

// The columns of a whole run fill the picture, however long the run and wide the picture.
func TestWholeRunFillsThePicture(t *testing.T) {
	for _, steps := range []int64{500, 1777, 9001, 30000} {
		run := steady(steps)
		for columns := 40; columns <= 240; columns += 7 {
			f := run.Snapshot().Frame(Query{Columns: columns})
			if n := len(f.Columns); n > columns || n*100 < columns*85 {
				t.Errorf("%d steps: %d of %d columns", steps, n, columns)
			}
			if f.Span.Counts.Steps != steps {
				t.Errorf("%d steps: %d in the columns", steps, f.Span.Counts.Steps)
			}
		}
	}
}

// Where only coarse roll-ups are left, columns are as wide as these, and still whole.
func TestColumnsWidenWhereStepsAreGone(t *testing.T) {
	s := New(Options{RingSteps: blockSteps})
	s.Line(0, step("dp0-pid1", 1, 10e6))
	s.engines[0].tiers.levels[0].limit = 60
	for i := int64(2); i <= 20000; i++ {
		s.Line(0, step("dp0-pid1", i, i*10e6))
	}
	sn := s.Snapshot()
	for _, c := range []struct {
		atNS, bucketNS int64
		exact          bool
	}{
		{wallNS + 20000*10e6, second / 4, true},
		{wallNS + 17000*10e6, second, false},
		{wallNS + 50e9, 16 * second, false},
	} {
		f := sn.Frame(Query{Columns: 8, SpanNS: 2 * second, AtNS: c.atNS})
		if f.BucketNS != c.bucketNS || f.Span.Period.Exact != c.exact || (f.Span.Period.ErrorPct == 0) != c.exact {
			t.Errorf("at %d: buckets of %d ns, %+v", c.atNS-wallNS, f.BucketNS, f.Span.Period)
		}
		for i := range f.Columns {
			k := f.Columns[i].Counts
			if want := f.BucketNS / 10e6; k.Steps != 0 && k.Steps != want && f.Columns[i].StartNS+f.BucketNS < wallNS+20000*10e6 && f.Columns[i].StartNS > wallNS {
				t.Errorf("at %d: column %d holds %d steps of %d", c.atNS-wallNS, i, k.Steps, want)
			}
		}
	}
}
