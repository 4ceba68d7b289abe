package tui

import (
	"errors"
	"strings"

	tea "charm.land/bubbletea/v2"

	"opprof/engine/meter"
	"opprof/tui/chart"
	"opprof/tui/keys"
	"opprof/tui/panel"
	"opprof/tui/theme"
)

// metricsPage shows what a server says itself. It is all there is of a server that writes no records.
type metricsPage struct {
	reading panel.Metrics
	focus   panel.MetricsPart

	width, height int
}

func newMetricsPage(opt Options) *metricsPage {
	return &metricsPage{reading: panel.Metrics{Now: opt.Now, Zone: opt.Zone}}
}

func (p *metricsPage) name() string             { return "server" }
func (p *metricsPage) keys() keys.Context       { return keys.ContextText }
func (p *metricsPage) resize(width, height int) { p.width, p.height = width, height }
func (p *metricsPage) want() want               { return want{reading: true} }
func (p *metricsPage) receive(tea.Msg) tea.Cmd  { return nil }
func (p *metricsPage) needs() keys.Need         { return keys.NeedLive }
func (p *metricsPage) position() panel.Position { return panel.Position{} }
func (p *metricsPage) draw(g *chart.Grid) {
	p.reading.Draw(g.Sub(chart.Rect{Y: 2, W: g.W(), H: g.H() - 3}), p.focus)
}
func (p *metricsPage) take(_ want, pic picture)             { p.reading.Reading = pic.reading }
func (p *metricsPage) header(g *chart.Grid, _ panel.Status) { p.reading.Header(g) }

var errNoRecords = errors.New("there are no records to search: only what the server says now is known")

func (p *metricsPage) seek(string) (tea.Cmd, error) { return nil, errNoRecords }

func (p *metricsPage) press(b keys.Binding) tea.Cmd {
	switch b.ID {
	case keys.FocusNext, keys.Down, keys.PageDown:
		p.focus = p.focus.Next(1)
	case keys.FocusPrev, keys.Up, keys.PageUp:
		p.focus = p.focus.Next(-1)
	case keys.Top:
		p.focus = 0
	case keys.Bottom:
		p.focus = panel.MetricsPart(0).Next(-1)
	}
	return nil
}

func (p *metricsPage) explain() (string, []panel.Definition) {
	return "explain: what the server says", panel.MetricsDefinitions()
}

func (p *metricsPage) copied() []string {
	g := chart.NewGrid(120, panel.MetricsHeight, theme.UnicodeGlyphs())
	p.reading.Draw(g, p.focus)
	return append([]string{meter.Source}, strings.Split(g.Plain(), "\n")...)
}
