package roster

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"opprof/engine/frames"
	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/store"
	"opprof/testdata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// put writes a stream of a run below root.
func put(t testing.TB, root, run, name string, data []byte) {
	t.Helper()
	dir := filepath.Join(root, run, rundir.Layer1Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func recording(t testing.TB, name string) []byte {
	t.Helper()
	data, err := testdata.Recording(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

const streamName = "opprof-v1-dp0-pid1-1.jsonl"

// truth are the figures of a stream, counted step by step.
func truth(data []byte) (c store.Counts, periods []int64) {
	r := record.NewReader(bytes.NewReader(data), "")
	var q store.Sequence
	for r.Scan() {
		if l := r.Line(); l.Kind == record.KindStep {
			at := q.Next(&l.Step)
			c.Add(&l.Step, at)
			if at.PeriodNS >= 0 {
				periods = append(periods, at.PeriodNS)
			}
		}
	}
	slices.Sort(periods)
	return c, periods
}

func once(t testing.TB, o Options) *Roster {
	t.Helper()
	if o.Now == nil {
		o.Now = time.Now
	}
	r, err := New(o).Once(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFiguresAreThoseOfTheSteps(t *testing.T) {
	root := t.TempDir()
	for _, name := range testdata.Recordings() {
		put(t, root, name, streamName, recording(t, name))
	}
	r := once(t, Options{Root: root})
	if len(r.Runs) != len(testdata.Recordings()) || r.Read != len(r.Runs) || r.Problem != "" {
		t.Fatalf("%d runs, %d read, %q", len(r.Runs), r.Read, r.Problem)
	}
	for i := range r.Runs {
		e := &r.Runs[i]
		c, periods := truth(recording(t, e.ID))
		decode, told := c.NewDecodeTokens()
		if !told {
			decode = c.DecodeTokens
		}
		if *e.Steps != c.Steps || *e.PrefillTokens != c.PrefillTokens || *e.DecodeTokens != decode || *e.FirstNS != c.FirstNS || *e.DurationNS != c.LastNS-c.FirstNS || *e.Dropped != 0 {
			t.Errorf("%s: %+v, want %+v", e.ID, e.Figures, c)
		}
		p95 := periods[(len(periods)*95+99)/100-1]
		if off := float64(*e.P95NS-p95) / float64(p95) * 100; off > e.ErrorPct || off < -e.ErrorPct {
			t.Errorf("%s: p95 %d is %.2f %% off", e.ID, *e.P95NS, off)
		}
		if e.Model != "Qwen3-30B-A3B" || e.TP == nil || e.Sampled || e.Pending || e.State != Finished || (e.Verdict == Whole) != (c.Gaps == 0) || len(e.Problems) > 0 {
			t.Errorf("%+v", e)
		}
	}
}

// What is not plain, or not whole, gives the same figures as far as it goes.
func TestOtherForms(t *testing.T) {
	data := recording(t, "h200-tp1-literal")
	lines := bytes.SplitAfter(data, []byte("\n"))
	half := len(bytes.Join(lines[:len(lines)/2], nil))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(data)
	z.Close()
	root := t.TempDir()
	put(t, root, "gzip", streamName+".gz", packed.Bytes())
	put(t, root, "parts", streamName+".1", data[:half])
	put(t, root, "parts", streamName, data[half:])
	put(t, root, "plain", streamName, data)
	put(t, root, "cut", streamName, data[:half+100])
	put(t, root, "noise", streamName, []byte("no record\n"))
	put(t, root, "empty", streamName, nil)
	if err := os.WriteFile(filepath.Join(root, "noise", rundir.ManifestName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "bare", rundir.Layer1Name), 0o700); err != nil {
		t.Fatal(err)
	}
	got := map[string]Entry{}
	for _, e := range once(t, Options{Root: root}).Runs {
		got[e.ID] = e
	}
	want := got["plain"]
	for _, name := range []string{"gzip", "parts"} {
		e := got[name]
		if *e.Steps != *want.Steps || *e.P95NS != *want.P95NS || *e.DecodeTokens != *want.DecodeTokens || *e.Windows != *want.Windows || e.State != Finished {
			t.Errorf("%s: %+v, want %+v", name, e, want)
		}
	}
	if e := got["cut"]; e.State != CutOff || e.Verdict != Incomplete || *e.Steps == 0 || *e.Steps >= *want.Steps {
		t.Errorf("%+v", e)
	}
	for name, text := range map[string]string{"noise": "cannot read run manifest", "empty": "is empty", "bare": ""} {
		if e := got[name]; e.State != Broken || len(e.Problems) == 0 || !strings.Contains(strings.Join(e.Problems, " "), text) {
			t.Errorf("%s: %s, %q", name, e.State, e.Problems)
		}
	}
	bare := got["bare"] // without records, nothing is known to be zero
	for _, id := range []string{"steps", "tokens", "windows", "dropped"} {
		if text := column(id).Text(&bare, time.UTC); text != "-" {
			t.Errorf("%s of a run without records: %s", id, text)
		}
	}
}

// Figures come from the cache while no file has changed, and anew when one has.
func TestCache(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	data := recording(t, "h200-tp1-literal")
	put(t, root, "a", streamName, data)
	o := Options{Root: root, CacheDir: dir}
	first := once(t, o).Runs[0]
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var c cacheFile
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	*c.Figures.Steps = 7
	marked, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		cache []byte
		steps int64
	}{"kept": {marked, 7}, "cut": {marked[:len(marked)/2], *first.Steps}, "foreign": {[]byte("[]"), *first.Steps}} {
		if err := os.WriteFile(files[0], tt.cache, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := once(t, o).Runs[0]; *got.Steps != tt.steps {
			t.Errorf("%s: %d steps, want %d", name, *got.Steps, tt.steps)
		}
	}
	if err := os.WriteFile(files[0], marked, 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, root, "a", streamName, data[:len(data)/2])
	if got := once(t, o).Runs[0]; *got.Steps >= *first.Steps || *got.Steps == 7 {
		t.Errorf("%d steps of a changed file", *got.Steps)
	}
}

// A keeper follows its folder: runs come, change and go.
func TestKeeperFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		data := recording(t, "h200-tp1-literal")
		k := New(Options{Root: root, Now: time.Now, Stand: func(_ context.Context, l *rundir.Listed) Standing {
			return Standing{Live: filepath.Base(l.Path) == "b"}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		ticks, done := make(chan time.Time), make(chan struct{})
		go func() { k.Run(ctx, ticks); close(done) }()
		look := func() *Roster {
			ticks <- time.Time{}
			synctest.Wait()
			return k.Roster()
		}
		synctest.Wait()
		if r := k.Roster(); len(r.Runs) != 0 {
			t.Errorf("%+v", r)
		}
		put(t, root, "a", streamName, data)
		put(t, root, "b", streamName, data[:len(data)/2])
		r := look()
		if len(r.Runs) != 2 || r.Read != 2 || r.Runs[0].State != Live || r.Runs[1].State != Finished {
			t.Fatalf("%+v", r)
		}
		steps := *r.Runs[0].Steps
		put(t, root, "b", streamName, data)
		time.Sleep(time.Minute) // of the bubble: a run that is written is not read at every tick
		if got := look(); *got.Runs[0].Steps <= steps || got.Version <= r.Version {
			t.Errorf("%d steps, %d before", *got.Runs[0].Steps, steps)
		}
		if err := os.RemoveAll(filepath.Join(root, "b")); err != nil {
			t.Fatal(err)
		}
		if got := look(); len(got.Runs) != 1 || got.Runs[0].ID != "a" {
			t.Errorf("%+v", got)
		}
		cancel()
		<-done
	})
}

// Many runs are read by few readers, each once.
func TestManyRuns(t *testing.T) {
	root := t.TempDir()
	data := recording(t, "h200-tp2-eager")
	for i := range 120 {
		put(t, root, "run-"+string(rune('a'+i%26))+string(rune('a'+i/26)), streamName, data)
	}
	r := once(t, Options{Root: root, Readers: 3})
	if r.Read != 120 {
		t.Errorf("%d of %d read", r.Read, len(r.Runs))
	}
}

func TestCampaignRuns(t *testing.T) {
	root := t.TempDir()
	data := recording(t, "h200-tp2-eager")
	put(t, root, "c/runs/one", streamName, data)
	put(t, root, "two", streamName, data)
	if err := os.WriteFile(filepath.Join(root, "c", "campaign.toml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{root: "two one:c", filepath.Join(root, "c"): "one:c"} {
		var got []string
		for _, e := range once(t, Options{Root: dir}).Runs {
			got = append(got, strings.TrimSuffix(e.ID+":"+e.Campaign, ":"))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s has %q, want %q", dir, s, want)
		}
	}
}

// A view sorts stably by what is known, unknown last either way, and filters without losing or inventing runs.
func TestViewSorts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &Roster{}
		for i := range rapid.IntRange(0, 30).Draw(t, "runs") {
			e := Entry{ID: string(rune('a' + i%26)), State: rapid.SampledFrom([]string{"", Live, Finished}).Draw(t, "state"), Pending: rapid.Bool().Draw(t, "pending")}
			if rapid.Bool().Draw(t, "known") {
				n := rapid.Int64Range(0, 5).Draw(t, "n")
				e.Steps, e.FirstNS, e.P95NS, e.PrefillTokens, e.DecodeTokens = &n, &n, &n, &n, &n
			}
			e.Bytes = int64(i)
			r.Runs = append(r.Runs, e)
		}
		v := View{Sort: rapid.SampledFrom(columnIDs()).Draw(t, "column"), Turned: rapid.Bool().Draw(t, "turned")}
		if err := v.Check(); err != nil {
			t.Fatal(err)
		}
		rows, c := v.Rows(r), column(v.Sort)
		if len(rows) != len(r.Runs) {
			t.Fatalf("%d rows of %d", len(rows), len(r.Runs))
		}
		for i := 1; i < len(rows); i++ {
			a, b := &rows[i-1], &rows[i]
			switch ka, kb := c.known(a), c.known(b); {
			case !ka && kb:
				t.Fatal("an unknown run stands before a known one")
			case !ka || !kb:
			case !v.Turned && c.order(a, b) > 0, v.Turned && c.order(a, b) < 0:
				t.Fatalf("%s: %s before %s", c.ID, c.Text(a, time.UTC), c.Text(b, time.UTC))
			case c.order(a, b) == 0 && cmp.Compare(a.Bytes, b.Bytes) > 0:
				t.Fatal("equal runs changed places")
			}
		}
	})
	if err := (View{Sort: "speed"}).Check(); err == nil || !strings.Contains(err.Error(), "duration") {
		t.Errorf("a column that does not exist is taken: %v", err)
	}
}

func TestFilter(t *testing.T) {
	r := &Roster{Runs: []Entry{{ID: "20261130-a", Figures: Figures{Model: "Qwen3"}}, {ID: "b", State: Broken}, {ID: "c", Campaign: "nightly"}}}
	for filter, want := range map[string]string{"": "20261130-a b c", "qwen": "20261130-a", " BROKEN ": "b", "nightly": "c", "2026": "20261130-a", "x": ""} {
		var got []string
		for _, e := range (View{Filter: filter}).Rows(r) {
			got = append(got, e.ID)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q shows %q, want %q", filter, s, want)
		}
	}
}

// A long stream without an index is sampled: what is estimated says so, what cannot be estimated is not known, and an index makes it exact.
func TestLongRunsAreSampled(t *testing.T) {
	root := t.TempDir()
	data := recording(t, "h200-tp1")
	put(t, root, "a", streamName, data)
	path := filepath.Join(root, "a", rundir.Layer1Name, streamName)
	f, err := frames.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g := &gathering{engines: map[string]bool{}}
	if err := g.sample(t.Context(), f, path); err != nil {
		t.Fatal(err)
	}
	e := Entry{ID: "a"}
	e.complete(g.figures(), Standing{})
	exact := once(t, Options{Root: root}).Runs[0]
	if !e.Sampled || e.Windows != nil || e.Dropped != nil || e.Verdict != "" || *exact.Windows != 7 {
		t.Errorf("%+v", e)
	}
	if off := float64(*e.Steps) / float64(*exact.Steps); off < 0.95 || off > 1.05 {
		t.Errorf("%d steps are estimated, there are %d", *e.Steps, *exact.Steps)
	}
	if got := column("steps").Text(&e, time.UTC); !strings.HasPrefix(got, "~") {
		t.Errorf("an estimate is shown as %s", got)
	}
}

// A run whose recorder was off has no records to judge, and a server that has just started none yet: neither is broken.
func TestRunsWithoutRecordsAreNotJudged(t *testing.T) {
	none, some := int64(0), int64(9)
	for name, c := range map[string]struct {
		figures  Figures
		standing Standing
		want     string
	}{
		"recorder off":           {Figures{}, Standing{State: "dead"}, ""},
		"just started":           {Figures{Engines: 1, Bytes: 700, Steps: &none}, Standing{State: "ready", Live: true}, ""},
		"ended with no step":     {Figures{Engines: 1, Bytes: 700, Steps: &none}, Standing{State: "dead"}, Broken},
		"records not readable":   {Figures{Unread: []string{"no permission"}}, Standing{State: "dead"}, Broken},
		"of nobody, and empty":   {Figures{}, Standing{}, Broken},
		"ended without a footer": {Figures{Engines: 1, Bytes: 700, Steps: &some, Dropped: &none, Gaps: &none, BadLines: &none}, Standing{State: "dead"}, Incomplete},
	} {
		e := Entry{}
		e.complete(&c.figures, c.standing)
		if e.Verdict != c.want {
			t.Errorf("%s: %q, want %q", name, e.Verdict, c.want)
		}
	}
}
