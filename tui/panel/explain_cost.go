package panel

import "opprof/tui/layout"

// PageCost names the figures of the cost page.
const PageCost layout.ID = "cost of a step"

// CostDefinitions say what the cost page shows.
func CostDefinitions() []Definition {
	const windows, held = "profiler windows that are tied to steps", "windows that the model was not fitted to"
	of := func(name, unit, source, text string) Definition {
		return Definition{Panel: PageCost, Name: name, Unit: unit, Source: source, Text: text}
	}
	return []Definition{
		of("kernels busy", "ms", windows, "How long the device would be busy with a step of the question: the union of all kernels of the rank with the most work, without its waiting in collectives, as a model of a few terms a family predicts it. It is no step period: time in which the device waits is not in it."),
		of("with 95 %", "ms", held, "Interval that holds a further step of a further window with 95 %, from the errors of held-out windows and the spread of steps within them. It needs three windows, and there is none beyond what was seen."),
		of("within, OUTSIDE", "", windows, "Within: the question lies between steps that were seen in its graph mode, in decode requests, prefill tokens and context together, and in requests and padded tokens. Outside the model guesses, and the page says in what."),
		of("seen", "requests, tokens", windows, "Least and most of each quantity among the steps of the graph mode. Context of all is that of all requests together, known to the width of the histogram's bins."),
		of("measured", "ms", windows, "Steps of the table's row that the question belongs to: mean, least and most of their busy time. It may be wider than the question: rows are bins."),
		of("held out, off by", "% of what was measured", held, "Each window in turn is predicted from all others. Steps of one window are nearly alike, so leaving out single steps would find any model in order."),
		of("as now", "", "the newest step", "The question follows the live composition: requests, prompt tokens, mean context, graph mode and bucket of the newest step. Of a finished run it is the newest step of its windows."),
		of("table", "ms", windows, "Busy time by what steps held: graph mode, bucket, decode requests, prefill tokens, median context. Mean of the row's steps; families are unions of their kernels. Steps of the warm-up are left out."),
		of("model", "us", windows, "Each family is a sum of terms that cannot be negative: of a step, of the weights that its tokens touch, of a token, of the context, of prefill times context, of a request."),
	}
}
