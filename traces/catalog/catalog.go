package catalog

import (
	"context"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"opprof/engine/armed"
	"opprof/engine/store"
	"opprof/traces/capture"
	"opprof/traces/family"
	"opprof/traces/join"
	"opprof/traces/rank"
)

// Options say where windows come from. All functions are called from the looking goroutine.
type Options struct {
	Traces  func() ([]string, error)
	Streams func() ([]string, error)
	Markers func() []store.Window // by time
	Ranks   func() int            // of an engine; 0 when unknown. nil is unknown
	// Step is a step of an engine as its record tells it; ok is false when it is not known. nil knows none.
	Step  func(engine string, index int64) (s join.Step, ok bool)
	Rules func() (*family.Rules, error) // asked for once, before the first file is read
	Live  bool                          // files may still be written
	Now   func() time.Time
	// Pending says of a window that is armed what is waited for; "" when none is. nil is never.
	Pending func() string
	// Armed is what the run's folder tells of its windows, for their numbers; nil, and a nil list, number by time.
	Armed func() *armed.List
	// Note says why windows have no traces, where that is known; "" when it is not.
	Note string
	// Events bounds the timeline of a file, MaxFiles how many files are kept in memory. 0 is the default.
	Events, MaxFiles int
}

const (
	// defaultEvents is ten times what ten iterations of a large model launch: 16 MB.
	defaultEvents   = 400_000
	defaultMaxFiles = 512
	// settledNS is how long a file must not have changed before it is taken for given up by its writer, and read as it is.
	settledNS = 30_000_000_000
)

// Catalog keeps the windows of one run.
type Catalog struct {
	options Options
	list    atomic.Pointer[List]
	wake    chan struct{}

	mu     sync.Mutex // guards what follows
	opened []string   // keys of the windows that are looked at

	rules     *family.Rules
	files     map[string]*file // the rest belongs to the looking goroutine
	windows   []join.Window
	taxonomy  rank.Taxonomy
	described map[string][]join.Step // steps of windows without traces, by key
	behind    map[string]*join.Step  // the step behind the labelled ones where it was recorded after they were read, by key
	version   uint64
	problem   string
}

// New returns a catalog that has not looked yet.
func New(o Options) *Catalog {
	if o.Events == 0 {
		o.Events = defaultEvents
	}
	if o.MaxFiles == 0 {
		o.MaxFiles = defaultMaxFiles
	}
	c := &Catalog{options: o, wake: make(chan struct{}, 1), files: map[string]*file{}, taxonomy: rank.Taxonomy{}, described: map[string][]join.Step{}, behind: map[string]*join.Step{}}
	c.list.Store(&List{})
	return c
}

// List is what is known now. It does not block.
func (c *Catalog) List() *List { return c.list.Load() }

// Open says which windows are looked at: their timelines are read and kept, those of others are let go.
func (c *Catalog) Open(keys []string) {
	c.mu.Lock()
	same := slices.Equal(c.opened, keys)
	c.opened = slices.Clone(keys)
	c.mu.Unlock()
	if !same {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

func (c *Catalog) isOpen(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.opened, key)
}

// Run looks at every tick, and whenever other windows are opened, until ctx ends. It returns nil then, and an
// error only where there are no rules to read by.
func (c *Catalog) Run(ctx context.Context, ticks <-chan time.Time) error {
	for {
		if err := c.Look(ctx); ctx.Err() != nil {
			return nil
		} else if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		case <-c.wake:
		}
	}
}

// Look takes one look at the files, reads what is whole and publishes what is known. An error means that ctx ended, or that there are no
// rules to read by.
func (c *Catalog) Look(ctx context.Context) error {
	if c.rules == nil {
		rules, err := c.options.Rules()
		if err != nil {
			return err
		}
		c.rules = rules
	}
	changed := c.scan()
	c.publish()
	read, err := c.readAll(ctx)
	if err != nil {
		return err
	}
	if changed || read {
		if err := c.join(ctx); err != nil {
			return err
		}
		c.publish()
	}
	if told, err := c.tell(ctx); err != nil || told {
		c.publish()
		return err
	}
	return nil
}

// scan looks at the folder and reports whether a file that was read is gone or another one.
func (c *Catalog) scan() (changed bool) {
	paths, err := c.options.Traces()
	c.problem = ""
	if err != nil {
		c.problem = err.Error()
		return false
	}
	for path, f := range c.files {
		if slices.Contains(paths, path) {
			continue
		}
		delete(c.files, path)
		if packed := path + ".gz"; slices.Contains(paths, packed) && f.renamed(packed) {
			c.files[packed] = f
			continue
		}
		changed = changed || f.part.Breakdown != nil
	}
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil {
			continue // deleted meanwhile
		}
		f := c.files[path]
		if f == nil {
			f = &file{path: path, size: -1}
			c.files[path] = f
		}
		had := f.part.Breakdown != nil
		f.see(st)
		changed = changed || had && f.part.Breakdown == nil
		c.ripen(f)
	}
	return changed
}

// ripen decides whether a pending file is to be read.
func (c *Catalog) ripen(f *file) {
	if f.state != FilePending || f.why != "" && !c.givenUp(f) {
		return
	}
	whole, err := closed(f.path, f.size)
	switch {
	case err != nil:
		f.state, f.why = FileFailed, err.Error()
	case whole && (f.quiet || !c.options.Live), c.givenUp(f):
		f.state = FileWaiting
	}
}

// givenUp reports whether nobody writes the file any more, whole or not.
func (c *Catalog) givenUp(f *file) bool {
	return !c.options.Live || c.options.Now().UnixNano()-f.modNS > settledNS
}

// waiting are the files to be read, newest first.
func (c *Catalog) waiting() []*file {
	var out []*file
	for _, f := range c.sorted() {
		if f.state == FileWaiting {
			out = append(out, f)
		}
	}
	slices.Reverse(out)
	return out
}

// sorted are the files by export time.
func (c *Catalog) sorted() []*file {
	out := make([]*file, 0, len(c.files))
	for _, f := range c.files {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *file) int {
		if a.exportNS != b.exportNS {
			return int(max(-1, min(1, a.exportNS-b.exportNS)))
		}
		if a.path < b.path {
			return -1
		}
		return 1
	})
	return out
}

// readAll reads what waits, two files at a time, and reports whether anything was read.
func (c *Catalog) readAll(ctx context.Context) (bool, error) {
	waiting := c.waiting()
	for i, f := range waiting {
		if i >= c.options.MaxFiles {
			f.state, f.why = FileFailed, "not read: only the newest files of a run are kept in memory; opprof trace reads any"
		}
	}
	waiting = waiting[:min(len(waiting), c.options.MaxFiles)]
	for _, pair := range pairs(waiting) {
		parts := make([]capture.Part, len(pair))
		errs := make([]error, len(pair))
		var wg sync.WaitGroup
		for i, f := range pair {
			wg.Go(func() { parts[i], errs[i] = capture.Read(ctx, f.path, c.rules, c.taxonomy, 0) })
		}
		wg.Wait()
		if err := ctx.Err(); err != nil {
			return false, err
		}
		for i, f := range pair {
			c.took(f, parts[i], errs[i])
		}
		c.publish()
	}
	return len(waiting) > 0, c.reread(ctx)
}

func pairs(files []*file) [][]*file { return slices.Collect(slices.Chunk(files, 2)) }

// took takes the outcome of reading a file. One that ends too early is looked at again when it has grown.
func (c *Catalog) took(f *file, p capture.Part, err error) {
	switch {
	case err != nil && !c.givenUp(f):
		f.state, f.why = FilePending, err.Error()
	case err != nil:
		f.state, f.why = FileFailed, err.Error()
	case !p.Whole && !c.givenUp(f):
		f.state, f.why = FilePending, "its end is not written yet"
	default:
		f.state, f.why, f.part = FileRead, "", p
		c.taxonomy.Add(p.Breakdown.Teach())
	}
}

// reread reads the files again whose nameless kernels another window has placed meanwhile.
func (c *Catalog) reread(ctx context.Context) error {
	for _, f := range c.sorted() {
		b := f.part.Breakdown
		if b == nil || !c.taxonomy.Helps(b) {
			continue
		}
		p, err := capture.Read(ctx, f.path, c.rules, c.taxonomy, 0)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			f.part, f.told = p, false
		}
	}
	return nil
}

// join groups all files that were read into windows and ties these to steps.
func (c *Catalog) join(ctx context.Context) error {
	var all []*rank.Breakdown
	for _, f := range c.sorted() {
		if f.part.Breakdown != nil {
			all = append(all, f.part.Breakdown)
		}
	}
	streams, err := c.options.Streams()
	if err != nil {
		c.problem = err.Error()
	}
	windows, err := capture.Join(ctx, streams, all)
	if err != nil {
		return err
	}
	c.windows = c.gathered(windows)
	return nil
}

// tell reads the timelines of the windows that are looked at, and lets those of others go. It reports whether anything changed.
func (c *Catalog) tell(ctx context.Context) (changed bool, err error) {
	for _, w := range c.List().Windows {
		open := c.isOpen(w.Key)
		for _, view := range w.Files {
			f := c.files[view.Path]
			switch {
			case f == nil || f.part.Breakdown == nil:
			case open && !f.told:
				p, err := capture.Read(ctx, f.path, c.rules, c.taxonomy, c.options.Events)
				if ctx.Err() != nil {
					return changed, ctx.Err()
				}
				f.told = true
				if err == nil {
					f.part.Timeline = p.Timeline
				}
				changed = true
			case !open && f.told:
				f.told, f.part.Timeline = false, nil
				changed = true
			}
		}
	}
	return changed, nil
}

// publish makes the list of what is known now.
func (c *Catalog) publish() {
	k := known{markers: c.options.Markers(), windows: c.windows, files: c.sorted(), note: c.options.Note}
	if c.options.Live {
		k.nowNS = c.options.Now().UnixNano()
	}
	if c.options.Ranks != nil {
		k.ranks = c.options.Ranks()
	}
	if c.options.Pending != nil {
		k.armed = c.options.Pending()
	}
	if c.options.Armed != nil {
		k.orders = c.options.Armed()
	}
	c.version++
	l := &List{Version: c.version, Windows: merge(k), Of: len(c.files), Problem: c.problem}
	for i := range l.Windows {
		w := &l.Windows[i]
		w.Steps, w.StallNS = c.steps(w), c.stall(w)
	}
	for _, f := range c.files {
		if f.state == FileRead || f.state == FileFailed {
			l.Done++
		}
	}
	c.list.Store(l)
}
