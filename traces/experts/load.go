package experts

import (
	"errors"
	"fmt"
)

// Load counts how often each expert was chosen in each layer, over any number of arrays. Sums are exact: the order and the cut of the arrays
// do not matter.
type Load struct {
	Layers, TopK int // 0 before the first array
	Arrays       int
	Tokens       int64
	// Counts are choices by layer and expert. Without given experts the rows are as long as the largest id seen so far asks for.
	Counts [][]int64
	// Rows are the (token, layer) pairs that were counted, by layer.
	Rows []int64
	// ZeroRows are those of nothing but expert 0, by layer: with more than one expert a token that is memory nobody wrote, and is not counted.
	// A layer of no other rows does not route at all.
	ZeroRows []int64
	// RepeatedRows name an expert twice, which no router does; they are counted all the same.
	RepeatedRows int64
	// OutOfRange are ids that are negative or not below the number of experts; they are left out.
	OutOfRange int64
	// ZeroTokens are tokens whose every row is a zero row.
	ZeroTokens int64

	experts int // given; 0 when not
}

// NewLoad returns an empty load of a model with so many experts a layer; 0 when that is not known, and the largest id tells.
func NewLoad(experts int) *Load { return &Load{experts: experts} }

// ErrShape says that an array is of another model than those before it.
var ErrShape = errors.New("another shape")

// Add counts an array. An error leaves the load as it was.
func (l *Load) Add(a *Array) error {
	if l.Layers != 0 && (a.Layers != l.Layers || a.TopK != l.TopK) {
		return fmt.Errorf("%w: %d layers of %d experts a token, the arrays before have %d of %d", ErrShape, a.Layers, a.TopK, l.Layers, l.TopK)
	}
	if l.experts != 0 && a.TopK > l.experts {
		return fmt.Errorf("%w: %d experts a token, and only %d in a layer", ErrShape, a.TopK, l.experts)
	}
	if l.Layers == 0 {
		l.Layers, l.TopK = a.Layers, a.TopK
		l.Counts, l.Rows, l.ZeroRows = make([][]int64, a.Layers), make([]int64, a.Layers), make([]int64, a.Layers)
		for i := range l.Counts {
			l.Counts[i] = make([]int64, l.experts)
		}
	}
	l.Arrays++
	l.Tokens += int64(a.Tokens)
	row := make([]int64, a.TopK)
	for t := range a.Tokens {
		zeros := 0
		for layer := range a.Layers {
			for k := range row {
				row[k] = a.ID(t, layer, k)
			}
			if l.addRow(layer, row) {
				zeros++
			}
		}
		if zeros == a.Layers {
			l.ZeroTokens++
		}
	}
	return nil
}

// Merge adds what another load counted. An error leaves the load as it was.
func (l *Load) Merge(o *Load) error {
	switch {
	case o.Arrays == 0:
		return nil
	case l.Layers != 0 && (o.Layers != l.Layers || o.TopK != l.TopK):
		return fmt.Errorf("%w: %d layers of %d experts a token, the arrays before have %d of %d", ErrShape, o.Layers, o.TopK, l.Layers, l.TopK)
	}
	if l.Layers == 0 {
		l.Layers, l.TopK = o.Layers, o.TopK
		l.Counts, l.Rows, l.ZeroRows = make([][]int64, o.Layers), make([]int64, o.Layers), make([]int64, o.Layers)
	}
	for i := range o.Counts {
		if n := len(o.Counts[i]) - len(l.Counts[i]); n > 0 {
			l.Counts[i] = append(l.Counts[i], make([]int64, n)...)
		}
		for e, c := range o.Counts[i] {
			l.Counts[i][e] += c
		}
		l.Rows[i] += o.Rows[i]
		l.ZeroRows[i] += o.ZeroRows[i]
	}
	l.Arrays += o.Arrays
	l.Tokens += o.Tokens
	l.RepeatedRows += o.RepeatedRows
	l.OutOfRange += o.OutOfRange
	l.ZeroTokens += o.ZeroTokens
	return nil
}

// Of is the same load of a model with so many experts a layer, which was not known when it was counted. An error says that more were seen.
func (l *Load) Of(experts int) (*Load, error) {
	if n, _ := l.Experts(); experts < n || experts > MaxExperts {
		return nil, fmt.Errorf("%d experts: expected %d, the largest id that was seen and one, to %d", experts, n, MaxExperts)
	}
	out := *l
	out.experts = experts
	return &out, nil
}

// addRow counts the choices of one token in one layer, and reports whether they are all zero.
func (l *Load) addRow(layer int, row []int64) (zero bool) {
	zero = true
	for _, id := range row {
		zero = zero && id == 0
	}
	if zero {
		l.ZeroRows[layer]++
		if len(row) > 1 {
			return true
		}
	}
	l.Rows[layer]++
	if repeats(row) {
		l.RepeatedRows++
	}
	for _, id := range row {
		if id < 0 || id >= MaxExperts || l.experts != 0 && id >= int64(l.experts) {
			l.OutOfRange++
			continue
		}
		if n := int(id) + 1 - len(l.Counts[layer]); n > 0 {
			l.Counts[layer] = append(l.Counts[layer], make([]int64, n)...)
		}
		l.Counts[layer][id]++
	}
	return zero
}

// repeats looks for two equal ids in a short row.
func repeats(row []int64) bool {
	for i, id := range row {
		for _, other := range row[:i] {
			if id == other {
				return true
			}
		}
	}
	return false
}

// Experts is the number of experts of a layer, and whether it was given; otherwise it is the largest id seen plus one, and experts above that
// were never chosen.
func (l *Load) Experts() (n int, given bool) {
	if l.experts != 0 {
		return l.experts, true
	}
	for _, c := range l.Counts {
		n = max(n, len(c))
	}
	return n, false
}

// Layer are the choices of a layer, one for each expert.
func (l *Load) Layer(layer int) []int64 {
	n, _ := l.Experts()
	out := make([]int64, n)
	copy(out, l.Counts[layer])
	return out
}

// All are the choices of all layers together. Experts of two layers share no weights: what is uneven here is uneven in most layers alike.
func (l *Load) All() []int64 {
	n, _ := l.Experts()
	out := make([]int64, n)
	for _, counts := range l.Counts {
		for e, c := range counts {
			out[e] += c
		}
	}
	return out
}
