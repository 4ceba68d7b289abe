package tui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/exp/golden"

	"opprof/engine/notes"
	"opprof/engine/query"
	"opprof/engine/record"
	"opprof/engine/search"
	"opprof/engine/store"
)

// reviewSource is a run whose steps can be searched and that keeps notes.
type reviewSource struct {
	*fakeSource
	streams []string
	book    *notes.Book

	now     *search.Search
	expr    string
	stopped int
	held    bool // the search does not read
}

func (s *reviewSource) Search(ctx context.Context, expr, engine string) (*search.Search, error) {
	if expr == s.expr && s.now != nil {
		return s.now, nil
	}
	s.expr, s.now = expr, nil
	if expr == "" {
		s.stopped++
		return nil, nil
	}
	q, err := query.Compile(expr)
	if err != nil {
		return nil, err
	}
	s.now = search.New(q, search.Options{Engine: engine, Final: true})
	if s.held {
		return s.now, nil
	}
	return s.now, s.now.Extend(ctx, s.streams)
}

func (s *reviewSource) Notes(context.Context) (*notes.List, error) { return s.book.Read() }

func (s *reviewSource) KeepNote(_ context.Context, n notes.Note) (notes.Note, string, error) {
	if n.ID == "" {
		n, _, err := s.book.Add(n)
		return n, "", err
	}
	_, err := s.book.Put(n)
	return n, "", err
}

func (s *reviewSource) DropNote(_ context.Context, n notes.Note) error { return s.book.Delete(n) }

// newReviewSource is a finished run of recorded steps, in a store and in a file.
func newReviewSource(t *testing.T, n int) (*reviewSource, []record.Line) {
	t.Helper()
	lines := recording(t, "h200-tp1", n)
	var text []byte
	for i := range lines {
		text = append(record.Append(text, &lines[i]), '\n')
	}
	path := filepath.Join(t.TempDir(), "opprof-v1-dp0.jsonl")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1_796_000_000, 0)
	return &reviewSource{fakeSource: &fakeSource{run: describe("finished"), store: filled(lines)}, streams: []string{path},
		book: notes.NewBook(t.TempDir(), "", func() time.Time { at = at.Add(time.Second); return at })}, lines
}

// matching are the indexes of the steps that an expression matches, asked one by one.
func matching(t *testing.T, text string, lines []record.Line) (steps []int64, all int64) {
	t.Helper()
	q, err := query.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	var order store.Sequence
	for i := range lines {
		if lines[i].Kind != record.KindStep {
			continue
		}
		all++
		p := order.Next(&lines[i].Step)
		var period *int64
		if p.PeriodNS >= 0 {
			period = &p.PeriodNS
		}
		if q.Ask(&lines[i].Step, period) == query.Yes {
			steps = append(steps, lines[i].Step.StepIndex)
		}
	}
	return steps, all
}

func (s *reviewSource) open(t *testing.T, w, h int) *screen {
	t.Helper()
	x := newScreen(t, s, time.Unix(1_796_004_000, 0), Options{})
	x.size(w, h)
	for range 3 {
		x.tick(time.Second)
	}
	return x
}

// types presses the keys of a text, all of them before any command is run.
func (s *screen) types(text string) {
	var cmds []tea.Cmd
	for _, r := range text {
		_, cmd := s.m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
		cmds = append(cmds, cmd)
	}
	s.run(tea.Batch(cmds...))
}

// hits presses keys and looks at what they lead to.
func (s *screen) hits(names ...string) {
	for _, n := range names {
		s.keys(n)
		s.tick(250 * time.Millisecond)
		s.tick(250 * time.Millisecond)
	}
}

func TestSearchWalksTheMatches(t *testing.T) {
	s, lines := newReviewSource(t, 3000)
	x := s.open(t, 120, 40)
	const text = "prefill_tokens > 4096 && kv.usage > 0.01"
	want, all := matching(t, text, lines)
	x.hits("ctrl+f")
	x.types("prefill_to") // a name that is not whole
	if !strings.Contains(x.plain(), "there is no field prefill_to; nearest: prefill_tokens") {
		t.Errorf("the form does not say what is wrong:\n%s", x.plain())
	}
	x.hits("enter")
	if x.m.dialog == nil {
		t.Fatal("an expression that is none was taken")
	}
	x.hits("tab")
	x.m.Update(tea.PasteMsg{Content: " > 4096\n&& kv.usage > 0.01\x1b[31m"})
	x.hits("enter")
	if x.m.dialog != nil {
		t.Fatalf("the form is still open:\n%s", x.plain())
	}
	b := x.m.pages[0].(*board)
	if got := b.hunt.found; got == nil || got.counts.Matches != int64(len(want)) || got.counts.Steps != all || !got.done {
		t.Fatalf("found %+v, want %d of %d steps", got, len(want), all)
	}
	for i, step := range want[:5] {
		x.hits("f")
		if got := b.input().Now.StepIndex; got != step {
			t.Fatalf("match %d: at step %d, want %d", i+1, got, step)
		}
	}
	if line := x.plain(); !strings.Contains(line, "5th") || !strings.Contains(line, "3,000 steps") || !strings.Contains(line, text) {
		t.Errorf("the screen does not say where it stands:\n%s", line)
	}
	x.hits("o") // the step's fields follow
	x.hits("F")
	if got := b.input().Now.StepIndex; got != want[3] || !strings.Contains(x.plain(), "4th") {
		t.Errorf("back: at step %d, want %d", got, want[3])
	}
	x.hits("esc")
	if b.maximised || b.hunt.expr == "" {
		t.Error("esc leaves the step's detail first")
	}
	x.hits("esc")
	if b.hunt.expr != "" || s.stopped != 1 || strings.Contains(x.plain(), text) {
		t.Errorf("esc does not clear the search: stopped %d times\n%s", s.stopped, x.plain())
	}
	x.hits("f")
	if f, ok := x.m.dialog.(*searchForm); !ok || f.expr.String() != text {
		t.Error("f without a search does not propose the last expression")
	}
}

func TestSearchThatRunsIsCalledOff(t *testing.T) {
	s, _ := newReviewSource(t, 500)
	s.held = true
	x := s.open(t, 100, 30)
	x.hits("ctrl+f")
	x.types("running > 0")
	x.hits("enter")
	if !strings.Contains(x.plain(), "searched") {
		t.Errorf("it does not say how far the search is:\n%s", x.plain())
	}
	x.hits("o")
	x.hits("esc")
	if b := x.m.pages[0].(*board); b.hunt.expr != "" || s.stopped != 1 || !strings.Contains(x.plain(), "called off") {
		t.Errorf("a running search is called off first (stopped %d times):\n%s", s.stopped, x.plain())
	}
}

func TestBookmarks(t *testing.T) {
	s, _ := newReviewSource(t, 500)
	x := s.open(t, 120, 40)
	b := x.m.pages[0].(*board)
	x.hits(".")
	step := b.input().Now.StepIndex
	x.types("blook here") // typed in one go: the prompt opens with its key
	x.hits("enter")
	x.hits(".")
	x.types("b")
	x.hits("enter") // a bookmark without a text
	l, err := s.book.Read()
	if err != nil || len(l.Notes) != 2 || *l.Notes[0].Step != step || l.Notes[0].Text != "look here" || l.Notes[0].Engine != "dp0-pid1090" || l.Notes[1].Text != "" {
		t.Fatalf("%+v, %v", l.Notes, err)
	}
	if !strings.Contains(x.plain(), "b bookmark") {
		t.Errorf("bookmarks are not marked:\n%s", x.plain())
	}
	x.hits("g")
	x.hits("B")
	if line := x.plain(); !strings.Contains(line, "look here") {
		t.Errorf("the list:\n%s", line)
	}
	x.types("e and there")
	x.hits("enter")
	x.hits("j")
	x.hits("x")
	if l, _ := s.book.Read(); len(l.Notes) != 1 || l.Notes[0].Text != "look here and there" {
		t.Errorf("edited and deleted: %+v", l.Notes)
	}
	x.hits("u")
	if l, _ := s.book.Read(); len(l.Notes) != 2 {
		t.Errorf("brought back: %+v", l.Notes)
	}
	x.hits("k")
	x.hits("enter")
	if got := b.input().Now.StepIndex; got != step || x.m.dialog != nil {
		t.Errorf("at step %d, want %d", got, step)
	}
	if _, _, err := s.book.Add(notes.Note{Text: "\x1b]0;evil\x07 \u202eright"}); err != nil {
		t.Fatal(err)
	}
	for range 2 * seldom {
		x.tick(time.Second)
	}
	x.hits("B")
	if line := x.content(); strings.Contains(line, "evil\x07") || strings.ContainsRune(line, '\u202e') || strings.Contains(line, "\x1b]0") {
		t.Error("a hostile note reaches the terminal")
	}
}

func TestRunsThatCannotBeSearched(t *testing.T) {
	s, _ := newReviewSource(t, 50)
	x := newScreen(t, s.fakeSource, time.Unix(1_796_004_000, 0), Options{})
	x.size(100, 30)
	x.tick(time.Second)
	for _, k := range []string{"ctrl+f", "f", "b", "B"} {
		x.keys(k)
		if x.m.dialog != nil || x.m.prompt != nil || x.m.notice == "" {
			t.Errorf("%s: %q", k, x.m.notice)
		}
	}
}

// What is typed or pasted right behind the key that opens an input line is text of that line.
func TestPromptsOpenWithTheirKey(t *testing.T) {
	s, _ := newReviewSource(t, 500)
	x := s.open(t, 100, 30)
	x.types("/300")
	if x.m.prompt == nil || x.m.prompt.text != "300" {
		t.Fatalf("prompt %+v", x.m.prompt)
	}
	x.m.Update(tea.PasteMsg{Content: "\n5\x1b[A"})
	if x.m.prompt.text != "300 5" && x.m.prompt.text != "3005" {
		t.Errorf("pasted: %q", x.m.prompt.text)
	}
}

func TestOverviewOfTheWholeRun(t *testing.T) {
	s, _ := newReviewSource(t, 2000)
	for _, size := range [][2]int{{80, 24}, {120, 40}, {180, 50}, {60, 16}} {
		x := s.open(t, size[0], size[1])
		x.hits("O")
		line := x.plain()
		for _, row := range []string{"p95, log", "KV usage", "graph mode", "steps", "preemptions", "stalls", "gaps", "windows", "bookmarks"} {
			if !strings.Contains(line, row) {
				t.Errorf("%v: no row %q:\n%s", size, row, line)
			}
		}
		x.hits("O")
		if strings.Contains(x.plain(), "bookmarks  ") {
			t.Errorf("%v: the overview stays", size)
		}
	}
}

func TestReviewGoldens(t *testing.T) {
	for name, keys := range map[string][]string{
		"search": {"ctrl+f", "paste:prefill_tokens > 4096", "enter", "f", "f"}, "form": {"ctrl+f", "paste:prefill_tokens > 4096 && kv"},
		"notes": {".", "b", "paste:first work", "enter", ".", "b", "enter", "B"}, "overview": {"ctrl+f", "paste:graph.mode == \"NONE\"", "enter", "f", "b", "enter", "O"},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {180, 50}} {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				s, _ := newReviewSource(t, 3000)
				x := s.open(t, size[0], size[1])
				for _, k := range keys {
					if text, ok := strings.CutPrefix(k, "paste:"); ok {
						x.m.Update(tea.PasteMsg{Content: text})
						continue
					}
					x.hits(k)
				}
				x.m.notice = ""
				x.m.stale = true
				golden.RequireEqual(t, x.plain())
			})
		}
	}
}
