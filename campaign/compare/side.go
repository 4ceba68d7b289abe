package compare

// side describes a reading whose blocks were merged to a level.
func (m *match) side(r *Reading, level uint, independent bool) Side {
	s := Side{Name: r.title(), ID: r.run.ID, Path: r.run.Path, Span: r.span.text, Engines: r.engines, Steps: r.steps.n, TotalNS: r.steps.sum,
		Excluded: r.excluded, BlockSteps: 1 << (r.steps.shift + level), Independent: independent, Windows: r.windows, Problems: r.problems}
	if s.Windows == nil {
		s.Windows = []string{}
	}
	if s.Problems == nil {
		s.Problems = []string{}
	}
	if r.steps.n > 0 {
		mean := r.steps.mean()
		s.MeanNS, s.FirstNS, s.LastNS = &mean, &r.firstNS, &r.lastNS
	}
	s.Blocks = len(r.steps.deviations(level))
	return s
}
