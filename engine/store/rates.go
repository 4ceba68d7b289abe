package store

import "opprof/engine/record"

// rates cover the steps in (edge - RateSpanNS, edge], or since the first step where that is later: that step itself is not counted,
// since what it took began before. Over time without steps they go down to zero.
func (v *engineView) rates(edge int64) Rates {
	if v.empty() || edge <= v.firstNS() || v.run.Counts.Steps < 2 {
		return Rates{}
	}
	left := max(edge-RateSpanNS, v.firstNS())
	var c rateCounts
	switch {
	case v.covers(left+1, edge+1):
		for _, b := range v.blocks {
			c.addBlock(b, left, edge)
		}
	default:
		// Whole seconds are all that is left of that time.
		edge = floorTo(edge, second)
		left = max(edge-RateSpanNS, floorTo(v.firstNS(), second))
		if !c.addTier(v, left, edge) {
			return Rates{}
		}
	}
	return c.perSecond(edge - left)
}

type rateCounts struct {
	steps, prefill, decode, recompute int64
	untold                            int64 // steps that do not tell what was computed again
}

func (c *rateCounts) addBlock(b *block, left, edge int64) {
	if b.lastNS() <= left || b.firstNS() > edge {
		return
	}
	for i := b.after(left); i < b.after(edge); i++ {
		c.steps++
		p := &b.steps[i]
		c.untold += 1 - one(p.has&record.HasRecompute)
		if p.marks&markWide != 0 {
			s := b.wideAt(i)
			c.prefill += s.PrefillTokens
			c.decode += s.DecodeTokens
			c.recompute += s.RecomputeTokens
			continue
		}
		c.prefill += int64(p.prefillTokens)
		c.decode += int64(p.decodeTokens)
		c.recompute += int64(p.recomputeTokens)
	}
}

// addTier counts whole seconds, if they are still kept.
func (c *rateCounts) addTier(v *engineView, left, edge int64) bool {
	for i := range v.tiers {
		t := &v.tiers[i]
		if t.widthNS != second || t.fromNS > left {
			continue
		}
		t.each(left, edge, second, func(r *Rollup, _ int64) {
			c.steps += r.Counts.Steps
			c.prefill += r.Counts.PrefillTokens
			c.decode += r.Counts.DecodeTokens
			c.recompute += r.Counts.RecomputeTokens
			c.untold += r.Counts.Steps - r.Counts.RecomputeSteps
		})
		return true
	}
	return false
}

func (c *rateCounts) perSecond(ns int64) Rates {
	if ns <= 0 {
		return Rates{}
	}
	s := float64(ns) / second
	return Rates{
		Known: true, StepsPerS: float64(c.steps) / s, PrefillTokPerS: float64(c.prefill) / s, DecodeTokPerS: float64(c.decode) / s,
		RecomputeTokPerS: float64(c.recompute) / s, RecomputeKnown: c.untold == 0, NewDecodeTokPerS: float64(max(0, c.decode-c.recompute)) / s,
	}
}

func (r *Rates) add(o *Rates) {
	r.RecomputeKnown = (r.RecomputeKnown || !r.Known) && (o.RecomputeKnown || !o.Known) && (r.Known || o.Known)
	r.Known = r.Known || o.Known
	r.StepsPerS += o.StepsPerS
	r.PrefillTokPerS += o.PrefillTokPerS
	r.DecodeTokPerS += o.DecodeTokPerS
	r.RecomputeTokPerS += o.RecomputeTokPerS
	r.NewDecodeTokPerS += o.NewDecodeTokPerS
}
