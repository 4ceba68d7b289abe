package keys

// Preset is the action that chooses the next layout of a page.
const Preset ID = "preset"

func presets() []Binding {
	return []Binding{
		{ID: Preset, Keys: []string{"v"}, Help: "layout", Long: "next layout: all panels, or those about time, memory or load", Group: GroupPanels, Contexts: in(ContextCharts)},
	}
}
