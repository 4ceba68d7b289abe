package panel

import "opprof/tui/layout"

// PageCampaign is the page of a campaign, for its definitions.
const PageCampaign layout.ID = "campaign"

// CampaignDefinitions are those of the campaign page.
func CampaignDefinitions() []Definition {
	def := func(name, unit, source, text string) Definition {
		return Definition{PageCampaign, name, unit, source, text}
	}
	return []Definition{
		def("state", "", "the campaign's journal and its runner's process", "running while a runner works, paused while pairs are left and none does, finished when every run of the plan has ended, refused when the machine or the results make going on pointless."),
		def("verdict", "", "exact expanded-percentile bound on log ratios; paired t as second opinion", "PASS when the bound of every metric of every cell lies below the limit, FAIL when one does not, UNDECIDED while the pairs cannot tell: fewer than 5, an order effect of more than half the limit, or two bounds that disagree. A cell whose planned pairs have not all been judged is undecided, whatever its bound is by then. The campaign's verdict is the worst of its cells."),
		def("time left", "time", "runs that ended, else the plan's estimates", "Estimate of the time until the last run has ended."),
		def("counted, planned, void", "pairs", "runs of the plan", "Pairs of one run with the recorder off and one with it on. A pair counts when both runs are whole; it is void when one failed, its compilation was cold, or the two did not do the same work."),
		def("point", "%", "mean log ratio of the pairs", "Regression that the recorder causes in a metric: on/off - 1 where less is better, off/on - 1 where more is. Above zero is worse."),
		def("bound", "%", "expanded-percentile bootstrap, one-sided 2.5 %", "Upper end of the 95 % interval of the regression. It decides: below the limit passes."),
		def("t bound", "%", "paired t interval", "The same end by the t distribution. Where the two disagree about the limit, the verdict is undecided."),
		def("order", "%", "AB pairs against BA pairs", "What running second in a pair adds. More than half the limit makes the metric undecided."),
		def("pairs needed", "pairs", "point and spread of the pairs", "Pairs that would pass with a probability of 80 % at the spread seen so far."),
		def("marks", "%", "pairs", "Each mark is a pair at its regression: filled where the run without the recorder came first (AB), hollow where the one with it did (BA). The triangle is the point, the line from it ends at the bound; an arrow or an angle at an end means that what it stands for lies beyond the axis. The upright line is the limit."),
		def("phase", "", "server log, runner", "How far the run in progress is: the phase of its server's start, or the load."),
	}
}
