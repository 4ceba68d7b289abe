package calibrate

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// bruteForce tries every set of columns and keeps the best solution without a negative part.
func bruteForce(a [][]float64, b []float64) float64 {
	n := len(a[0])
	least := squares(a, b, make([]float64, n))
	dense := mat.NewDense(len(a), n, slices.Concat(a...))
	for set := 1; set < 1<<n; set++ {
		var columns []int
		for j := range n {
			if set>>j&1 == 1 {
				columns = append(columns, j)
			}
		}
		z, ok := solve(dense, mat.NewVecDense(len(b), b), columns)
		if !ok || slices.Min(z) < 0 {
			continue
		}
		x := make([]float64, n)
		for i, j := range columns {
			x[j] = z[i]
		}
		least = min(least, squares(a, b, x))
	}
	return least
}

func TestLeastSquaresAgainstEverySetOfColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "n")
		m := rapid.IntRange(n, 12).Draw(t, "m")
		number := rapid.Float64Range(-10, 10)
		a := rapid.SliceOfN(rapid.SliceOfN(number, n, n), m, m).Draw(t, "a")
		b := rapid.SliceOfN(number, m, m).Draw(t, "b")
		x := leastSquares(a, b)
		for j, v := range x {
			if v < 0 || math.IsNaN(v) {
				t.Fatalf("x[%d] is %v", j, v)
			}
		}
		var size float64
		for _, v := range b {
			size += v * v
		}
		if got, want := squares(a, b, x), bruteForce(a, b); got > want+1e-6*(size+1) {
			t.Fatalf("|Ax-b|^2 is %v, %v is possible", got, want)
		}
	})
}

func TestUnitsOfColumnsDoNotMatter(t *testing.T) {
	a := [][]float64{{1, 1e9}, {1, 2e9}, {1, 4e9}}
	x := leastSquares(a, []float64{3, 5, 9})
	if math.Abs(x[0]-1) > 1e-9 || math.Abs(x[1]-2e-9) > 1e-18 {
		t.Errorf("%v", x)
	}
}

func TestColumnsThatSayTheSame(t *testing.T) {
	x := leastSquares([][]float64{{1, 1, 0}, {2, 2, 0}, {3, 3, 0}}, []float64{2, 4, 6})
	if math.Abs(x[0]+x[1]-2) > 1e-9 || x[2] != 0 {
		t.Errorf("%v", x)
	}
	if x := leastSquares([][]float64{{1}, {1}}, []float64{-1, -2}); x[0] != 0 {
		t.Errorf("%v for a negative target", x)
	}
}
