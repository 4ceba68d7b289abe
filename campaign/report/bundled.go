package report

import (
	"fmt"

	"opprof/campaign/plan"
)

// bundledShare is the part of a step below which the time between two tokens cannot be the server's: a step gives a request one token, or,
// with speculation, a few.
const bundledShare = 0.1

// bundled tells of metrics between tokens that are shorter than steps allow: the tokens of a request reached the client in bundles, because the
// load generator or the API server waited for a processor. Such a metric says nothing of either arm. The steps are known of runs with the
// recorder on; both arms have the same load.
func (c *Cell) bundled(metrics []plan.Metric) []string {
	periodMS, ok := c.shortestPeriodMS()
	if !ok {
		return nil
	}
	var out []string
	for _, m := range metrics {
		if m.Unit() != "ms" || !m.BetweenTokens() {
			continue
		}
		n, all, least := 0, 0, 0.0
		for _, r := range c.Runs {
			v, ok := r.Metrics[m.Name]
			if !ok {
				continue
			}
			if all++; v < bundledShare*periodMS {
				if n++; n == 1 || v < least {
					least = v
				}
			}
		}
		if n > 0 {
			out = append(out, fmt.Sprintf("%s is down to %s ms in %d of %d runs, and half of the steps took %s ms or more: tokens reached the client in bundles, so it measures the load generator or the API server, which lacked processors",
				m.Name, short(&least), n, all, short(&periodMS)))
		}
	}
	return out
}

// shortestPeriodMS is the least median step period of the cell's runs.
func (c *Cell) shortestPeriodMS() (ms float64, ok bool) {
	for _, r := range c.Runs {
		if r.Layer1 == nil || r.Layer1.PeriodP50MS == nil {
			continue
		}
		if v := *r.Layer1.PeriodP50MS; !ok || v < ms {
			ms, ok = v, true
		}
	}
	return ms, ok
}
