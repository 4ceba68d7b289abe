package keys

// Actions of the campaign page.
const (
	MetricNext   ID = "metric-next"
	MetricPrev   ID = "metric-prev"
	Current      ID = "current"
	StopCampaign ID = "stop-campaign"
)

func campaign() []Binding {
	page := in(ContextCampaign)
	return []Binding{
		{ID: Accept, Keys: []string{"enter"}, Help: "open run", Long: "open the selected run; beside the list of runs, the one in progress; q comes back", Group: GroupCampaign, Contexts: page, Footer: 5},
		{ID: Current, Keys: []string{"f"}, Help: "follow", Long: "select the run in progress, and follow the campaign from run to run again", Group: GroupCampaign, Contexts: page, Needs: NeedPast, Footer: 12},
		{ID: MetricNext, Keys: []string{"m", "]", "right", "l"}, Show: "m →", Help: "metric", Long: "select the next metric", Group: GroupCampaign, Contexts: page, Footer: 20},
		{ID: MetricPrev, Keys: []string{"M", "[", "left", "h"}, Show: "M ←", Help: "metric before", Long: "select the metric before", Group: GroupCampaign, Contexts: page},
		{ID: StopCampaign, Keys: []string{"ctrl+x"}, Show: "^X", Help: "stop campaign", Long: "stop the campaign and the server of its run, after a question; opprof campaign resume goes on", Group: GroupCampaign, Contexts: page, Needs: NeedRunner | NeedOrders, Footer: 25},
	}
}
