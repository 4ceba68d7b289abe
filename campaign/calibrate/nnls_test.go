package calibrate

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// bruteForce tries every set of columns and keeps the best solution without a negative part.
func bruteForce(a [][]float64, b []float64) []float64 {
	n := len(a[0])
	best := make([]float64, n)
	least := squares(a, b, best)
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
		if got := squares(a, b, x); got < least {
			best, least = x, got
		}
	}
	return best
}

// reach is by how much |Ax-b|^2 may lie above its minimum at best, when no fixed column lets it fall by more than flat: it is convex, so it
// lies above by no more than its slope times the way to the minimum. Columns that are all but parallel make that way long.
func reach(a [][]float64, b, best []float64) float64 {
	_, scale := scaleColumns(a)
	var way float64
	for j, v := range best {
		way += v * scale[j]
	}
	norm := mat.Norm(mat.NewVecDense(len(b), b), 2)
	return 2*flat*norm*way + 1e-9*(norm*norm+1)
}

func TestLeastSquaresAgainstEverySetOfColumns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "n")
		m := rapid.IntRange(n, 12).Draw(t, "m")
		number := rapid.Float64Range(-10, 10)
		a := rapid.SliceOfN(rapid.SliceOfN(number, n, n), m, m).Draw(t, "a")
		b := rapid.SliceOfN(number, m, m).Draw(t, "b")
		compareWithBruteForce(t, a, b)
	})
}

// Two columns that differ by a ten-millionth explain a difference between two rows with weights of some ten thousand.
func TestColumnsAllButParallel(t *testing.T) {
	a := [][]float64{{1.1920928955078125e-07, 0.001953125, 1.4901161193847656e-08}, {1, 1, -1}, {-1.999755859375, 1, 1.999755859375}}
	compareWithBruteForce(t, a, []float64{0.0078125, 1, 2.9375})
}

// complains is what tests and properties have in common.
type complains interface {
	Helper()
	Fatalf(format string, args ...any)
}

func compareWithBruteForce(t complains, a [][]float64, b []float64) {
	t.Helper()
	x := leastSquares(a, b)
	for j, v := range x {
		if v < 0 || math.IsNaN(v) {
			t.Fatalf("x[%d] is %v", j, v)
		}
	}
	best := bruteForce(a, b)
	if got, want := squares(a, b, x), squares(a, b, best); got > want+reach(a, b, best) {
		t.Fatalf("|Ax-b|^2 is %v, %v is possible, with %v", got, want, best)
	}
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
