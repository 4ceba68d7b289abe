package report

import (
	"fmt"

	"opprof/campaign/bench"
	"opprof/campaign/gate"
	"opprof/campaign/page"
	"opprof/campaign/plan"
)

// selfTest holds two arms against each other of which neither records: the patched server with its recorder off, and the server as it was
// installed. What lies between them is the noise of the machine and of the method. It is nil without that arm.
func selfTest(p *plan.Plan, pairs []Pair) *gate.Decision {
	metrics := make([]gate.Metric, len(p.Metrics))
	for i, m := range p.Metrics {
		metrics[i] = gate.Metric{Name: m.Name, Higher: m.Higher}
	}
	ran := false
	for i := range pairs {
		pair := &pairs[i]
		ran = ran || pair.unpatched != nil
		if !pair.testsItself(p) {
			continue
		}
		for k, m := range p.Metrics {
			installed, _ := pair.unpatched.Result.Field(m.Field)
			off, _ := pair.off.Result.Field(m.Field)
			metrics[k].Pairs = append(metrics[k].Pairs, gate.Pair{ID: fmt.Sprint(pair.Number), Order: reversed(pair.Order), Off: installed, On: off})
		}
	}
	if !ran {
		return nil
	}
	d := gate.Decide(metrics, gate.Options{Limit: p.Campaign.LimitPct / 100})
	return &d
}

// testsItself reports whether both arms that do not record ran whole and did the same work.
func (p *Pair) testsItself(c *plan.Plan) bool {
	if len(objections(p.off, c))+len(objections(p.unpatched, c)) > 0 {
		return false
	}
	return len(apart(p.off.Machine, p.unpatched.Machine))+len(bench.Differences(p.off.Result, p.unpatched.Result))+len(otherCaches(p.off.Cache, p.unpatched.Cache)) == 0
}

// reversed is the order in which the arms of a self-test ran: an unpatched run stands at the other end of its pair than the off run.
func reversed(order string) string {
	if order == "AB" {
		return "BA"
	}
	return "AB"
}

// selfTestTable is what the self-test found; it has no row without one.
func (c *Cell) selfTestTable() page.Table {
	if c.SelfTest == nil {
		return page.Table{}
	}
	t := metricTable(c.SelfTest)
	t.Title = "Self-test: recorder off against the server as it was installed"
	t.Note = "Neither of the two records: what lies between them is the noise of the machine and of the method. It decides nothing."
	return t
}
