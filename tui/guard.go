package tui

import (
	tea "charm.land/bubbletea/v2"

	"opprof/engine/trap"
)

// guarded is the model as the program sees it: a panic in it, or in a command that it gave, ends the program in order, so that the terminal
// is put back before anything is said about it.
type guarded struct {
	m     *Model
	crash func(error) // ends the program; it does not block
}

func (g guarded) Init() tea.Cmd {
	var cmd tea.Cmd
	g.catch(func() { cmd = g.m.Init() })
	return g.watch(cmd)
}

func (g guarded) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	g.catch(func() { _, cmd = g.m.Update(msg) })
	return g, g.watch(cmd)
}

func (g guarded) View() tea.View {
	view := g.m.view
	g.catch(func() { view = g.m.View() })
	return view
}

func (g guarded) catch(work func()) {
	if err := trap.Run(func() error { work(); return nil }); err != nil {
		g.crash(err)
	}
}

// watch returns the command with its panics caught, those of the commands in a batch included.
func (g guarded) watch(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		var msg tea.Msg
		g.catch(func() { msg = cmd() })
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = g.watch(batch[i])
			}
		}
		return msg
	}
}
