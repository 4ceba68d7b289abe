package tui

import (
	"context"
	"slices"
)

// appear adds the pages whose source has come to have data. They stand behind the others, so that no page changes its number.
func (m *Model) appear() {
	has := func(name string) bool {
		return slices.ContainsFunc(m.pages, func(p page) bool { return p.name() == name })
	}
	live := m.run.Run.Kind != "finished"
	add := func(p page) {
		p.resize(m.width, m.height)
		m.pages = append(m.pages, p)
	}
	if from, ok := m.feed.source.(ExpertSource); ok && !has(expertsName) && from.HasExperts() {
		add(newExpertsPage(live, m.opt))
	}
	if from, ok := m.feed.source.(CostSource); ok && !has(costName) && from.HasCost() {
		add(newCostPage(live, m.opt))
	}
}

// fetchLearned asks what routed experts and profiler windows teach.
func fetchLearned(ctx context.Context, source Source, w want, p *picture) {
	if from, ok := source.(ExpertSource); ok && w.experts {
		p.experts, p.expertsErr = from.Experts(ctx)
	}
	if from, ok := source.(CostSource); ok && w.cost {
		p.cost, p.costErr = from.Cost(ctx)
	}
}
