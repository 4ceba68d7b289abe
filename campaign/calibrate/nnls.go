package calibrate

import (
	"slices"

	"gonum.org/v1/gonum/mat"
)

// flat is the least fall of the residual along a column, as a share of the target's norm, that is worth a turn.
const flat = 1e-10

// vanishing is the size under which a column counts as zero: its weight would be beyond what a float64 holds.
const vanishing = 1e-290

// leastSquares minimises |Ax - b| over x >= 0 by the active-set method (Lawson and Hanson, "Solving Least Squares Problems", 1974, chapter 23).
// a is a list of rows. The columns are scaled inside, so that their units do not matter. A column that says the same as those already free
// stays zero.
func leastSquares(a [][]float64, b []float64) []float64 {
	n := len(a[0])
	scaled, scale := scaleColumns(a)
	target := mat.NewVecDense(len(b), b)
	x, free, refused := make([]float64, n), make([]bool, n), make([]bool, n)
	// Every turn that is not the last lets the residual fall, so the sets of free columns do not repeat; the bound is for rounding.
	for range 3 * n * n {
		next := steepest(scaled, target, x, free, refused)
		if next < 0 {
			break
		}
		y, now := slices.Clone(x), slices.Clone(free)
		now[next] = true
		if !settle(scaled, target, y, now) {
			refused[next] = true
			continue
		}
		x, free = y, now
		clear(refused)
	}
	for j := range x {
		x[j] /= scale[j]
	}
	return x
}

func scaleColumns(a [][]float64) (*mat.Dense, []float64) {
	m, n := len(a), len(a[0])
	scale := make([]float64, n)
	for _, row := range a {
		for j, v := range row {
			scale[j] = max(scale[j], v, -v)
		}
	}
	out := mat.NewDense(m, n, nil)
	for j := range scale {
		if scale[j] < vanishing {
			scale[j] = 1
		}
		for i, row := range a {
			out.Set(i, j, row[j]/scale[j])
		}
	}
	return out, scale
}

// steepest is the fixed column, of those not refused, along which the residual falls most; -1 when none lets it fall.
func steepest(a *mat.Dense, b *mat.VecDense, x []float64, free, refused []bool) int {
	var residual, gradient mat.VecDense
	residual.MulVec(a, mat.NewVecDense(len(x), x))
	residual.SubVec(b, &residual)
	gradient.MulVec(a.T(), &residual)
	best, most := -1, flat*(mat.Norm(b, 2)+1e-300)
	for j := range x {
		if v := gradient.AtVec(j); !free[j] && !refused[j] && v > most {
			best, most = j, v
		}
	}
	return best
}

// settle solves for the free columns and gives up those that would become negative, one after another. It is false when the columns do not
// determine a solution.
func settle(a *mat.Dense, b *mat.VecDense, x []float64, free []bool) bool {
	for {
		columns := indices(free)
		z, ok := solve(a, b, columns)
		if !ok {
			return false
		}
		step, negative := 1.0, false
		for i, j := range columns {
			if z[i] <= 0 {
				negative = true
				if d := x[j] - z[i]; d > 0 {
					step = min(step, x[j]/d)
				} else {
					step = 0
				}
			}
		}
		if !negative {
			for i, j := range columns {
				x[j] = z[i]
			}
			return true
		}
		dropped := false
		for i, j := range columns {
			x[j] += step * (z[i] - x[j])
			if x[j] <= 1e-14 {
				x[j], free[j], dropped = 0, false, true
			}
		}
		if !dropped || len(indices(free)) == 0 {
			return dropped
		}
	}
}

func indices(set []bool) []int {
	var out []int
	for j, in := range set {
		if in {
			out = append(out, j)
		}
	}
	return out
}

// solve is the unconstrained least-squares solution in some columns.
func solve(a *mat.Dense, b *mat.VecDense, columns []int) ([]float64, bool) {
	m, _ := a.Dims()
	if m < len(columns) {
		return nil, false
	}
	part := mat.NewDense(m, len(columns), nil)
	for i, j := range columns {
		part.SetCol(i, mat.Col(nil, j, a))
	}
	var qr mat.QR
	qr.Factorize(part)
	if qr.Cond() > 1e12 {
		return nil, false
	}
	var z mat.VecDense
	if err := qr.SolveVecTo(&z, false, b); err != nil {
		return nil, false
	}
	return z.RawVector().Data, true
}
