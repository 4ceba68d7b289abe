package roster

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"opprof/engine/rundir"
)

// Options say which folder is listed and how.
type Options struct {
	Root     string
	CacheDir string // where figures are kept; "" keeps them in memory only
	IndexDir string // where indexes lie whose stream's folder is not writable
	// Stand is how a run stands by what watches it. It is called beside the readers.
	Stand   func(ctx context.Context, l *rundir.Listed) Standing
	Readers int // runs that are read at once; 0 is 2
	Now     func() time.Time
}

// Keeper keeps the roster of one folder.
type Keeper struct {
	o Options

	mu      sync.Mutex
	version uint64
	problem string
	kept    map[string]*kept // by path
	order   []string         // paths as they are listed
	queue   []string         // paths to be read
	active  int              // readers
	readers sync.WaitGroup
}

// kept is what is known of one run.
type kept struct {
	listed rundir.Listed
	entry  Entry
	stamp  string // of the files that the figures come from; "" before they are known
	busy   bool
	tried  time.Time     // when reading last began
	cost   time.Duration // of the last reading
}

// New returns a keeper that has not looked yet.
func New(o Options) *Keeper {
	if o.Readers == 0 {
		o.Readers = 2
	}
	return &Keeper{o: o, kept: map[string]*kept{}}
}

// Roster is what is known now. It does not block.
func (k *Keeper) Roster() *Roster {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := &Roster{Schema: 1, Root: k.o.Root, Runs: make([]Entry, 0, len(k.order)), Problem: k.problem, Version: k.version}
	for _, path := range k.order {
		e := k.kept[path].entry
		r.Runs = append(r.Runs, e)
		if !e.Pending {
			r.Read++
		}
	}
	return r
}

// Run lists the folder and reads its runs, again at every tick, until ctx ends. When it returns, no reader is left.
func (k *Keeper) Run(ctx context.Context, ticks <-chan time.Time) {
	defer k.readers.Wait()
	for {
		k.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
	}
}

// Once lists the folder and reads all of its runs.
func (k *Keeper) Once(ctx context.Context) (*Roster, error) {
	k.look(ctx)
	k.readers.Wait()
	return k.Roster(), ctx.Err()
}

// look lists the folder and queues what has changed.
func (k *Keeper) look(ctx context.Context) {
	found, err := list(k.o.Root)
	now := k.o.Now()
	stamps := make([]string, len(found))
	for i := range found {
		if ctx.Err() != nil {
			return
		}
		stamps[i] = stampOf(found[i].Path, k.o.IndexDir)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.problem = ""; err != nil {
		k.problem = err.Error()
	} else {
		k.drop(found)
	}
	for i := range found {
		l := found[i]
		e := k.kept[l.Path]
		if e == nil {
			e = &kept{entry: newEntry(&l)}
			k.kept[l.Path] = e
			k.version++
		}
		e.listed = l
		if !e.busy && e.due(stamps[i], now) {
			e.busy, e.tried = true, now
			k.queue = append(k.queue, l.Path)
		}
	}
	for range min(k.o.Readers-k.active, len(k.queue)) {
		k.active++
		k.readers.Go(func() { k.reader(ctx) })
	}
}

const (
	// restLive is the least time between two readings of a run that is written, and between two questions how a supervised one stands.
	restLive = 3 * time.Second
	// restFactor is how much longer than a reading the pause after it is.
	restFactor = 20
)

// due reports whether a run is to be read: its files have changed, or it is watched by something that may have news.
func (e *kept) due(stamp string, now time.Time) bool {
	switch rested := now.Sub(e.tried) >= max(restLive, restFactor*e.cost); {
	case e.entry.Pending:
		return true
	case e.stamp != stamp:
		return rested
	default:
		return e.entry.Live && rested
	}
}

// drop forgets runs that are gone and takes the order of the others.
func (k *Keeper) drop(found []rundir.Listed) {
	order := make([]string, len(found))
	for i := range found {
		order[i] = found[i].Path
	}
	if !slices.Equal(order, k.order) {
		k.order = order
		k.version++
	}
	for path := range k.kept {
		if !slices.Contains(order, path) {
			delete(k.kept, path)
		}
	}
}

// reader reads what is queued until nothing is.
func (k *Keeper) reader(ctx context.Context) {
	for {
		k.mu.Lock()
		if len(k.queue) == 0 || ctx.Err() != nil {
			k.active--
			k.mu.Unlock()
			return
		}
		path := k.queue[0]
		k.queue = k.queue[1:]
		e := k.kept[path]
		k.mu.Unlock()
		if e == nil {
			continue // it is gone
		}
		k.readRun(ctx, e)
	}
}

// readRun reads one run, or takes its figures from the cache.
func (k *Keeper) readRun(ctx context.Context, e *kept) {
	begin := k.o.Now()
	k.mu.Lock()
	l := e.listed
	k.mu.Unlock()
	stamp := stampOf(l.Path, k.o.IndexDir)
	entry := newEntry(&l)
	f, ok := k.cached(l.Path, stamp)
	if !ok {
		var problems []string
		f, problems = k.figures(ctx, &l)
		entry.Problems = append(entry.Problems, problems...)
		if ctx.Err() == nil && len(problems) == 0 {
			k.cache(l.Path, stamp, f)
		}
	}
	var s Standing
	if k.o.Stand != nil {
		s = k.o.Stand(ctx, &l)
	}
	if ctx.Err() == nil {
		entry.complete(f, s)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	e.entry, e.stamp, e.busy, e.cost = entry, stamp, false, k.o.Now().Sub(begin)
	k.version++
}

// figures reads a run. Problems are why there is nothing to read.
func (k *Keeper) figures(ctx context.Context, l *rundir.Listed) (*Figures, []string) {
	run, err := rundir.Open(l.Path)
	if err != nil {
		return &Figures{}, []string{err.Error()}
	}
	f, err := read(ctx, run, k.o.IndexDir)
	if err != nil {
		return &Figures{}, []string{err.Error()}
	}
	return f, nil
}

// list gives the runs of a folder of runs, of a campaign, or of one of its parts.
func list(root string) ([]rundir.Listed, error) {
	found, err := rundir.List(root)
	if err != nil || len(found) > 0 {
		return found, err
	}
	below, err := rundir.List(filepath.Join(root, "runs")) // of a campaign
	for i := range below {
		below[i].Campaign = filepath.Base(root)
	}
	return below, err
}
