package rundir

// ListTraces looks for the trace files again: profiler windows of a live run add to them. Any goroutine may call it.
func (r *Run) ListTraces() ([]string, error) {
	if IsTrace(r.Path) {
		return []string{r.Path}, nil
	}
	if r.streams.file != "" {
		return nil, nil // one stream was opened, not the folder that it lies in
	}
	found := (search{root: r.Root, depth: bareDepth}).find()
	return found.traces, found.err
}
