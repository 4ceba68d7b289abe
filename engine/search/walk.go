package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"opprof/engine/frames"
	"opprof/engine/index"
	"opprof/engine/record"
	"opprof/engine/store"
)

// place is a cell in its file, as it was when it was looked up.
type place struct {
	cell
	path string
}

// around are the cells that meet [fromNS, toNS].
func (s *Search) around(fromNS, toNS int64) []place {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []place
	for _, f := range s.files {
		for i := range f.cells {
			if c := &f.cells[i]; c.firstNS <= toNS && c.lastNS >= fromNS {
				list = append(list, place{*c, f.path})
			}
		}
	}
	return list
}

// Next is the nearest match strictly after a moment, or before it, among those that were found until now.
func (s *Search) Next(ctx context.Context, fromNS int64, forward bool) (found Hit, ok bool, err error) {
	for _, c := range s.beyond(fromNS, forward) {
		if ok && (forward && c.firstNS >= found.AtNS || !forward && c.lastNS <= found.AtNS) {
			break
		}
		hits, err := s.hitsOf(ctx, c)
		if err != nil {
			return Hit{}, false, err
		}
		for _, h := range hits {
			if forward && h.atNS > fromNS && (!ok || h.atNS < found.AtNS) || !forward && h.atNS < fromNS && (!ok || h.atNS > found.AtNS) {
				found, ok = Hit{c.engine, h.step, h.atNS}, true
			}
		}
	}
	return found, ok, nil
}

// beyond are the cells with matches after a moment, or before it, nearest first.
func (s *Search) beyond(fromNS int64, forward bool) []place {
	list := s.around(fromNS+1, math.MaxInt64)
	if !forward {
		list = s.around(math.MinInt64, fromNS-1)
	}
	slices.SortFunc(list, func(a, b place) int {
		if forward {
			return cmp.Compare(a.firstNS, b.firstNS)
		}
		return cmp.Compare(b.lastNS, a.lastNS)
	})
	return list
}

// hitsOf are the matches of a cell; those that were not kept are read again.
func (s *Search) hitsOf(ctx context.Context, p place) ([]hit, error) {
	if p.hits != nil || p.block == nil {
		return p.hits, nil
	}
	f, err := frames.Open(p.path)
	if err != nil {
		return nil, fmt.Errorf("cannot search again: %w", err)
	}
	defer f.Close()
	t := &taker{query: s.query.Clone()}
	if err := index.NewBlockReader(f).Read(ctx, p.block, func(step *record.Step, at store.Place) { t.take(step, at) }); err != nil {
		return nil, fmt.Errorf("cannot search %s again: %w", p.path, err)
	}
	return t.hits, nil
}

// Rank is the number of matches at or before a moment: 3 at the third one. exact is false where matches of a stretch around it are counted
// and not kept.
func (s *Search) Rank(ctx context.Context, atNS int64) (n int64, exact bool, err error) {
	s.mu.Lock()
	for _, f := range s.files {
		for i := range f.cells {
			if c := &f.cells[i]; c.lastNS < atNS {
				n += c.matches
			}
		}
	}
	s.mu.Unlock()
	exact = true
	for _, p := range s.around(atNS, atNS) {
		hits, err := s.hitsOf(ctx, p)
		if err != nil {
			return 0, false, err
		}
		exact = exact && int64(len(hits)) == p.matches
		for _, h := range hits {
			if h.atNS <= atNS {
				n++
			}
		}
	}
	return n, exact, nil
}

// Marks counts the matches in n columns of widthNS from a moment on. A stretch whose matches are not kept is marked from its first to its
// last one.
func (s *Search) Marks(fromNS, widthNS int64, n int) []int64 {
	if widthNS <= 0 || n <= 0 {
		return nil
	}
	marks := make([]int64, n)
	toNS := fromNS + widthNS*int64(n) - 1
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		for i := range f.cells {
			c := &f.cells[i]
			if c.firstNS > toNS || c.lastNS < fromNS {
				continue
			}
			for _, h := range c.hits {
				if h.atNS >= fromNS && h.atNS <= toNS {
					marks[(h.atNS-fromNS)/widthNS]++
				}
			}
			if c.hits == nil {
				first, last := (max(c.firstNS, fromNS)-fromNS)/widthNS, (min(c.lastNS, toNS)-fromNS)/widthNS
				for x := first; x <= last; x++ {
					marks[x] += max(1, c.matches/(last-first+1))
				}
			}
		}
	}
	return marks
}
