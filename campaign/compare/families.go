package compare

import (
	"cmp"
	"math"
	"slices"

	"opprof/campaign/calibrate"
	"opprof/traces/family"
)

// families are the kernel times of the windows of two runs by family, and as the last one the busy time. Their blocks are windows: the steps
// of a window are too alike to check each other.
type families [family.Count + 1]*match

func newFamilies(a, b *Reading) *families {
	var out families
	if len(a.samples) == 0 || len(b.samples) == 0 {
		return &out
	}
	for f := range out {
		out[f] = newMatch(tallyFamily(a.samples, f), tallyFamily(b.samples, f))
		out[f].levelA, out[f].levelB = 0, 0
	}
	return &out
}

func tallyFamily(samples []calibrate.Sample, f int) *tally {
	t := newTally(0)
	for i := range samples {
		s := &samples[i]
		ns := s.BusyNS
		if f < int(family.Count) {
			ns = s.FamilyNS[f]
		}
		t.add(keyOfSample(&s.Composition), int64(s.Window), int64(ns), int64(s.Tokens))
	}
	t.settle()
	return t
}

func familyName(f int) string {
	if f == int(family.Count) {
		return calibrate.Busy
	}
	return family.Family(f).String()
}

// into gives the cells their families.
func (m *families) into(rows []CellRow) {
	for i := range rows {
		r := &rows[i]
		for f, match := range m {
			if match == nil {
				continue
			}
			key := r.key
			key.Beside = 0 // a kernel's time does not depend on what is launched beside it
			a, b := match.a.cells[key], match.b.cells[key]
			if a != nil && b != nil && a.sum+b.sum > 0 {
				r.Families = append(r.Families, Family{familyName(f), a.n, b.n, a.mean(), b.mean()})
			}
		}
	}
}

// rows are the families over the cells that both have, busy first.
func (m *families) rows() []FamilyRow {
	out := []FamilyRow{}
	for f, match := range m {
		if match == nil || match.overlap == 0 {
			continue
		}
		if r := match.familyRow(familyName(f)); r.EqualA > 0 || r.EqualB > 0 {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(x, y FamilyRow) int {
		first := func(r *FamilyRow) int {
			if r.Family == calibrate.Busy {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(first(&x), first(&y)), -cmp.Compare(math.Abs(x.PartNS), math.Abs(y.PartNS)))
	})
	return out
}

// windowsLeast is how many windows a side needs for an interval.
const windowsLeast = 3

func (m *match) familyRow(name string) FamilyRow {
	r := FamilyRow{Family: name}
	var cellsA, cellsB []*cell
	var w []float64
	for i := range m.pairs {
		p := &m.pairs[i]
		if p.a == nil || p.b == nil {
			continue
		}
		r.Cells++
		r.StepsA, r.StepsB = r.StepsA+p.a.n, r.StepsB+p.b.n
		cellsA, cellsB, w = append(cellsA, p.a), append(cellsB, p.b), append(w, m.weight(p))
	}
	a, b := weigh(m.a, cellsA, w, 0), weigh(m.b, cellsB, w, 0)
	r.WindowsA, r.WindowsB = a.blocks, b.blocks
	if min(a.blocks, b.blocks) < windowsLeast {
		a.variance = math.Inf(1)
	}
	r.EqualA, r.EqualB, r.PartNS, r.Change = a.mean, b.mean, b.mean-a.mean, change(a, b, alpha)
	return r
}
