package session

import (
	"sync/atomic"

	"opprof/engine/armed"
	"opprof/engine/store"
	"opprof/traces/catalog"
)

// numbers is what the run's folder tells of the numbers of windows.
type numbers struct {
	folder *armed.Folder // of the goroutine that looks for traces
	list   atomic.Pointer[armed.List]
}

func newNumbers(dir string) *numbers {
	n := &numbers{folder: armed.NewFolder(dir)}
	n.look()
	return n
}

// look reads what has changed.
func (n *numbers) look() *armed.List {
	l := n.folder.List()
	n.list.Store(l)
	return l
}

// named names the windows of a frame as the windows page does. What only traces tell has a line there and none here.
func (s *Session) named(f *store.Frame, err error) (*store.Frame, error) {
	if err != nil || len(f.Windows) == 0 {
		return f, err
	}
	known := map[string]string{}
	for _, w := range s.windows.List().Windows {
		known[w.Key] = w.Name()
	}
	list := s.numbers.list.Load()
	seen := make([]armed.Seen, len(f.Windows))
	for i := range f.Windows {
		w := &f.Windows[i]
		seen[i] = armed.Seen{Engine: w.Engine, DP: -1, AfterStep: w.AfterStep, StartNS: w.StartWallNS}
	}
	for i, name := range list.Names(seen) {
		w := &f.Windows[i]
		told, ok := known[catalog.MarkerKey(w)]
		switch {
		case ok:
			w.Name = told
		case list == nil || name.Number > 0:
			w.Name = name.String()
		default:
			w.Name = "-"
		}
	}
	return f, nil
}
