package serverlog

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"opprof/engine/vllm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small are options that reach every limit with a few lines.
func small() Options {
	return Options{Recent: 8, Stride: 2, Marks: 6, PassBytes: 300, LineMax: 400, TextMax: 120, LookBytes: 500}
}

// world is a log and its file.
type world struct {
	t interface {
		Helper()
		Fatal(args ...any)
	}
	path string
	log  *Log
}

func newWorld(t testing.TB, o Options) *world {
	w := &world{t: t, path: filepath.Join(t.TempDir(), "server.log")}
	w.log = New(w.path, o)
	t.Cleanup(w.log.Close)
	return w
}

func (w *world) write(text string) {
	f, err := os.OpenFile(w.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// poll reads all there is.
func (w *world) poll() *State {
	for {
		more, err := w.log.Poll(context.Background())
		if err != nil {
			w.t.Fatal(err)
		}
		if !more {
			return w.log.State()
		}
	}
}

// look searches to the end, then answers.
func (w *world) look(q Query) *View {
	w.t.Helper()
	for {
		v, err := w.log.Look(context.Background(), q)
		if err != nil {
			w.t.Fatal(err)
		}
		if v.Done {
			return v
		}
	}
}

func numbers(lines []Line) []int64 {
	var out []int64
	for _, l := range lines {
		out = append(out, l.Number)
	}
	return out
}

// TestJoins is a table of facts about which lines belong together: a letter stands for an own line of that severity, a comma for one that
// continues another.
func TestJoins(t *testing.T) {
	const (
		engine = "(EngineCore pid=6) "
		error1 = engine + "ERROR 11-30 01:57:19 [core.py:9] "
	)
	tests := []struct {
		name, lines, want string
	}{
		{"plain lines", "INFO 11-30 01:57:19 [a.py:1] x\nWARNING 11-30 01:57:19 [a.py:1] y\nprint", "IWN"},
		{"the same place says two things", "WARNING 11-30 01:57:19 [a.py:1] x\nWARNING 11-30 01:57:19 [a.py:1] y", "WW"},
		{"indented lines of one message", "INFO 11-30 01:57:19 [a.py:1] x\nINFO 11-30 01:57:19 [a.py:1]   y\nINFO 11-30 01:57:20 [a.py:1]   z", "I,I"},
		{"a traceback with a head on every line", error1 + "died\n" + error1 + "Traceback (most recent call last):\n" + error1 + "  File x\n" + error1 + "ValueError: no\n" +
			engine + "INFO 11-30 01:57:19 [b.py:1] x", "E,,,I"},
		{"a traceback behind uvicorn's head", "ERROR:    Exception in ASGI application\nTraceback (most recent call last):\n  File x\nValueError: no\nnot of it", "E,,,N"},
		{"a traceback without any head is an error", engine + "Traceback (most recent call last):\n" + engine + "  File x\n" + engine + "ValueError: no\n" + engine + "print", "E,,N"},
		{"chained tracebacks", "Traceback (most recent call last):\n  File x\nValueError: no\n\nDuring handling of the above exception, another exception occurred:\n\n" +
			"Traceback (most recent call last):\n  File y\nKeyError: 1\nnot of it", "E,,,,,,,,N"},
		{"a second traceback right behind", "Traceback (most recent call last):\n  File x\nValueError: no\nTraceback (most recent call last):\n  File x\nE: no", "E,,,,,"},
		{"torch puts the rank before each line", "[rank0]: Traceback (most recent call last):\n[rank0]:   File x\n[rank0]: ValueError: no\nprint", "E,,N"},
		{"two processes at once", engine + "Traceback (most recent call last):\n(Worker pid=7) Traceback (most recent call last):\n" + engine + "  File x\n(Worker pid=7)   File y\n" +
			engine + "ValueError: no\n(Worker pid=7) KeyError: 1\n" + engine + "print", "EE,,,,N"},
		{"indented print behind a warning", "WARNING 11-30 01:57:19 [a.py:1] x\n  more\nINFO 11-30 01:57:19 [a.py:1] x\n  more", "W,IN"},
	}
	for _, tt := range tests {
		var j joiner
		var got strings.Builder
		for i, raw := range strings.Split(tt.lines, "\n") {
			l := newLine([]byte(raw), int64(i+1), 0, 1000)
			j.place(&l)
			switch {
			case l.Head != 0:
				got.WriteByte(',')
			case l.Severity == vllm.LevelNone:
				got.WriteByte('N')
			default:
				got.WriteByte(l.Severity.String()[0])
			}
		}
		if got.String() != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, &got, tt.want)
		}
	}
}

func TestRecordedStart(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "h200-tp2.log"))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, Options{})
	w.write(string(text))
	w.log.Align(Known{StartNS: 1796003840_000000000}) // 2026-11-30 01:57:20 UTC, by the header of the run's records
	s := w.poll()
	if want := int64(strings.Count(string(text), "\n")); s.Lines != want || s.Read != int64(len(text)) {
		t.Errorf("%d lines, %d bytes, want %d, %d", s.Lines, s.Read, want, len(text))
	}
	if s.Phase.Name != vllm.PhaseStopping || len(s.Args) == 0 || len(s.Facts) < 15 {
		t.Errorf("phase %v, %d arguments, %d facts", s.Phase, len(s.Args), len(s.Facts))
	}
	v := w.look(Query{Before: 1000})
	if len(v.Lines) != int(s.Lines) || v.Cursor != len(v.Lines)-1 {
		t.Fatalf("%d lines, cursor %d", len(v.Lines), v.Cursor)
	}
	took := map[string]time.Duration{}
	for _, p := range v.Phases {
		took[p.Name] = time.Duration(p.TookNS)
	}
	for name, want := range map[string]time.Duration{vllm.PhaseCompile: 54 * time.Second, vllm.PhaseEngine: 28 * time.Second, vllm.PhaseStopping: -1} {
		if took[name] != want {
			t.Errorf("%s took %v, want %v", name, took[name], want)
		}
	}
	apart := newWorld(t, Options{}) // without records that tell its year, a start takes as long
	apart.write(string(text))
	apart.poll()
	for i, p := range apart.look(Query{}).Phases {
		if p.AtNS != 0 || p.TookNS != v.Phases[i].TookNS || p.Said != v.Phases[i].Said || !p.Said.Known() {
			t.Errorf("%+v, beside records %+v", p, v.Phases[i])
		}
	}
	if got := time.Unix(0, v.LastNS).UTC().Format(time.RFC3339); !strings.HasPrefix(got, "2026-11-30T01:5") {
		t.Errorf("the last line was said at %s", got)
	}
	at := w.look(Query{Goto: Goto{AtNS: 1796003840_500000000}})
	if l := at.Lines[at.Cursor]; l.Said.LogTime != (vllm.LogTime{Month: 11, Day: 30, Hour: 1, Minute: 57, Second: 20}) && l.Said.Second > 20 {
		t.Errorf("at 01:57:20 stands %+v", l)
	}
	if s.ByLevel[vllm.LevelError] != 0 || s.ByLevel[vllm.LevelWarning] == 0 || s.Joined == 0 {
		t.Errorf("levels %v, %d joined", s.ByLevel, s.Joined)
	}
}

// block is a piece of a log whose lines belong together.
func block() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		head := rapid.SampledFrom([]string{"(EngineCore pid=6) ", "(EngineCore pid=6) ", "(Worker pid=7) ", ""}).Draw(t, "process")
		second := rapid.IntRange(10, 59).Draw(t, "second")
		level := rapid.SampledFrom([]string{"DEBUG", "INFO", "INFO", "WARNING", "ERROR", "CRITICAL"}).Draw(t, "level")
		said := fmt.Sprintf("%s%s 11-30 01:57:%d [core.py:%d] ", head, level, second, rapid.IntRange(1, 3).Draw(t, "place"))
		word := rapid.SampledFrom([]string{"alpha", "Beta", "gamma ünï", strings.Repeat("long ", 40), ""}).Draw(t, "word")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return head + "Traceback (most recent call last):\n" + head + "  File " + word + "\n" + head + "ValueError: " + word + "\n"
		case 1:
			return said + word + "\n" + said + "Traceback (most recent call last):\n" + said + "  File\n" + said + "KeyError\n"
		case 2:
			return head + "bar 1\rbar 2 " + word + "\n"
		case 3:
			return head + strings.Repeat("x", rapid.IntRange(390, 1300).Draw(t, "length")) + "\n"
		}
		return said + word + "\n"
	})
}

// oracle reads a whole text at once.
func oracle(text string, o Options) (all []Line, raws []string) {
	var j joiner
	offset := int64(0)
	for _, line := range strings.SplitAfter(text, "\n") {
		for rest := line; rest != ""; {
			raw := strings.TrimSuffix(rest, "\n")
			with := len(rest)
			if len(raw) > o.LineMax {
				raw, with = raw[:o.LineMax], o.LineMax
			}
			l := newLine([]byte(raw), int64(len(all)+1), offset, o.TextMax)
			j.place(&l)
			all, raws = append(all, l), append(raws, raw)
			offset += int64(with)
			rest = rest[with:]
		}
	}
	return all, raws
}

// TestAgainstOracle: whatever is written in whatever pieces, every view holds what reading it all at once says.
func TestAgainstOracle(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		o := small()
		n++
		w := &world{t: t, path: filepath.Join(dir, fmt.Sprint(n))}
		w.log = New(w.path, o)
		defer w.log.Close()
		text := ""
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			more := strings.Join(rapid.SliceOfN(block(), 1, 25).Draw(t, "blocks"), "")
			text += more
			cut := rapid.IntRange(0, len(more)).Draw(t, "cut")
			w.write(more[:cut])
			w.poll()
			w.write(more[cut:])
			w.poll()
		}
		all, raws := oracle(text, o)
		if s := w.log.State(); s.Lines != int64(len(all)) || s.Read != int64(len(text)) || len(s.index.marks) > o.Marks || len(s.recent) > 2*o.Recent {
			t.Fatalf("%d lines of %d, %d bytes of %d, %d marks, %d recent", s.Lines, len(all), s.Read, len(text), len(s.index.marks), len(s.recent))
		}
		checkCounts(t, w.log.State(), all)
		for range 6 {
			checkView(t, w, all, raws)
		}
	})
}

func checkCounts(t *rapid.T, s *State, all []Line) {
	var levels [vllm.LevelCritical + 1]int64
	joined := int64(0)
	for _, l := range all {
		if l.Head != 0 {
			joined++
		} else {
			levels[l.Severity]++
		}
	}
	if levels != s.ByLevel || joined != s.Joined {
		t.Fatalf("levels %v joined %d, want %v, %d", s.ByLevel, s.Joined, levels, joined)
	}
}

// checkView asks for a random view and looks for it by brute force.
func checkView(t *rapid.T, w *world, all []Line, raws []string) {
	f := Filter{
		Text:  rapid.SampledFrom([]string{"", "", "beta", "Beta", "ünï", "/a.pha|file/", "x", "no such"}).Draw(t, "text"),
		Level: rapid.SampledFrom([]vllm.Level{0, 0, vllm.LevelInfo, vllm.LevelError}).Draw(t, "level"),
	}
	q := Query{Filter: f, Context: rapid.Bool().Draw(t, "context"), Before: rapid.IntRange(0, 9).Draw(t, "before"), After: rapid.IntRange(0, 9).Draw(t, "after")}
	q.Goto.Line = rapid.Int64Range(0, int64(len(all))+3).Draw(t, "line")
	q.Goto.Move = rapid.Int64Range(-9, 9).Draw(t, "move")
	q.Goto.Jump = Jump(rapid.IntRange(int(JumpNone), int(JumpPrevMatch)).Draw(t, "jump"))
	v := w.look(q)

	m, err := f.matcher()
	if err != nil {
		t.Fatal(err)
	}
	var shown []Line
	passes := func(i int) bool { return m.matches([]byte(raws[i]), &all[i]) }
	count := int64(0)
	for i, l := range all {
		if l.Match = passes(i); l.Match {
			count++
		}
		if l.Match || q.Context {
			shown = append(shown, l)
		}
	}
	if v.Count != count || v.Shown != int64(len(shown)) {
		t.Fatalf("%+v: %d pass, %d shown, want %d, %d", q, v.Count, v.Shown, count, len(shown))
	}
	if len(shown) == 0 {
		if v.Cursor != -1 || len(v.Lines) != 0 {
			t.Fatalf("%+v: cursor %d in %d lines of none", q, v.Cursor, len(v.Lines))
		}
		return
	}
	at := len(shown) - 1
	if q.Goto.Line != 0 {
		at = max(0, atOrBefore(shown, q.Goto.Line))
	}
	at = min(max(0, at+int(q.Goto.Move)), len(shown)-1)
	target, ok := jumped(all, passes, shown[at].Number, q.Goto.Jump)
	if v.Nowhere == ok {
		t.Fatalf("%+v from line %d: nowhere %v, want %v", q, shown[at].Number, v.Nowhere, !ok)
	}
	if ok {
		at = max(0, atOrBefore(shown, target))
	}
	from, to := max(0, at-q.Before), min(len(shown), at+q.After+1)
	want := shown[from:to]
	if !slices.Equal(numbers(v.Lines), numbers(want)) || v.Cursor != at-from || v.Ordinal != int64(at+1) {
		t.Fatalf("%+v: lines %v cursor %d ordinal %d, want %v, %d, %d", q, numbers(v.Lines), v.Cursor, v.Ordinal, numbers(want), at-from, at+1)
	}
	for i := range want {
		if v.Lines[i].Message != want[i].Message || v.Lines[i].Offset != want[i].Offset || v.Lines[i].Match != want[i].Match {
			t.Fatalf("%+v: line %+v, want %+v", q, v.Lines[i], want[i])
		}
		if q.Context && (v.Lines[i].Head != want[i].Head || v.Lines[i].Severity != want[i].Severity) {
			t.Fatalf("%+v: line %+v, want %+v", q, v.Lines[i], want[i])
		}
	}
}

func atOrBefore(lines []Line, number int64) int {
	at := -1
	for i, l := range lines {
		if l.Number <= number {
			at = i
		}
	}
	return at
}

func jumped(all []Line, passes func(int) bool, from int64, j Jump) (int64, bool) {
	is := func(i int) bool {
		switch j {
		case JumpNextProblem, JumpPrevProblem:
			return all[i].Head == 0 && all[i].Severity >= vllm.LevelWarning
		case JumpNextError, JumpPrevError:
			return all[i].Head == 0 && all[i].Severity >= vllm.LevelError
		}
		return passes(i)
	}
	switch j {
	case JumpNone:
		return from, true
	case JumpNextProblem, JumpNextError, JumpNextMatch:
		for i := int(from); i < len(all); i++ {
			if is(i) {
				return int64(i + 1), true
			}
		}
	default:
		for i := int(from) - 2; i >= 0; i-- {
			if is(i) {
				return int64(i + 1), true
			}
		}
	}
	return 0, false
}
