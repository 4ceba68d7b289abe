package journal

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type fixed int64

func (f fixed) WallNS() int64 { return int64(f) }
func (f fixed) MonoNS() int64 { return int64(f) / 2 }

type spawned struct {
	PID  int      `json:"pid"`
	Argv []string `json:"argv"`
}

func open(t *testing.T, path string) (*Journal, *Replay) {
	t.Helper()
	j, r, err := Open(path, fixed(100))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j, r
}

func TestAppendAndReplay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	j, r := open(t, path)
	if len(r.Entries) != 0 || j.head.Generation != 1 {
		t.Fatalf("a new journal: %+v, generation %d", r, j.head.Generation)
	}
	if _, err := j.Append("server_spawned", spawned{7, []string{"python", "-m"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append("ready", nil); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(path); err != nil || len(got.Entries) != 2 || got.TornTail || got.Bad != 0 {
		t.Fatalf("read beside the writer: %+v, %v", got, err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j2, r2 := open(t, path)
	if j2.head.Generation != 2 || r2.Last() != (Head{Seq: 2, Generation: 1, WallNS: 100, MonoNS: 50, BootID: BootID(), Event: "ready"}) {
		t.Errorf("generation %d after %+v", j2.head.Generation, r2.Last())
	}
	var s spawned
	if err := r2.Entries[0].Decode(&s); err != nil || s.PID != 7 || s.Argv[1] != "-m" {
		t.Errorf("decoded %+v, %v", s, err)
	}
	if e, err := j2.Append("more", map[string]int{}); err != nil || e.Seq != 3 || e.Generation != 2 {
		t.Errorf("appended %+v, %v", e, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestOneWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j, _ := open(t, path)
	if _, _, err := Open(path, fixed(1)); !errors.Is(err, ErrLocked) {
		t.Fatalf("a second writer: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path)
}

// TestCutAnywhere: whatever a crash leaves of the file, acknowledged events before the cut are there and the journal goes on.
func TestCutAnywhere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "j")
	j, _ := open(t, path)
	for i := range 5 {
		if _, err := j.Append("e", map[string]int{"n": i}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(text) + 1 {
		p := filepath.Join(dir, "cut")
		if err := os.WriteFile(p, text[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		whole := strings.Count(string(text[:cut]), "\n")
		k, r, err := Open(p, fixed(1))
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if len(r.Entries) != whole || r.TornTail != (cut > 0 && text[cut-1] != '\n') {
			t.Fatalf("cut at %d: %d of %d entries, torn %v", cut, len(r.Entries), whole, r.TornTail)
		}
		if e, err := k.Append("after", nil); err != nil || e.Seq != int64(whole+1) {
			t.Fatalf("cut at %d: went on at %d, %v", cut, e.Seq, err)
		}
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
		if again, err := Read(p); err != nil || len(again.Entries) != whole+1 || again.Bad != 0 || again.TornTail {
			t.Fatalf("cut at %d, read again: %+v, %v", cut, again, err)
		}
	}
}

func TestBadLinesAreCounted(t *testing.T) {
	for text, gaps := range map[string]int64{
		"{\"seq\":1,\"event\":\"a\"}\n{\"seq\":2,\"event\":\"b\"}\n":                              0,
		"{\"seq\":1,\"event\":\"a\"}\n{\"seq\":3,\"event\":\"b\"}\n{\"seq\":4,\"event\":\"b\"}\n": 1,
		"{\"seq\":1,\"event\":\"a\"}\n{\"seq\":1,\"event\":\"a\"}\n{\"seq\":0,\"event\":\"b\"}\n": 2,
	} {
		if r := replay("j", []byte(text)); r.Gaps != gaps || (gaps > 0) != strings.HasPrefix(r.FirstGap, "j:2: event ") {
			t.Errorf("%q: %d gaps, %q", text, r.Gaps, r.FirstGap)
		}
	}
	r := replay("j", []byte("{\"seq\":1,\"event\":\"a\"}\nnonsense\n\x00\x00\x00\n{}\n{\"seq\":2,\"event\":\"b\"}\n{\"seq\""))
	if len(r.Entries) != 2 || r.Bad != 2 || !r.TornTail || !strings.HasPrefix(r.FirstBad, "j:2:") {
		t.Errorf("%+v", r)
	}
}

func TestFailureIsKept(t *testing.T) {
	j, _ := open(t, filepath.Join(t.TempDir(), "j"))
	if _, err := j.Append("x", 5); err == nil {
		t.Error("a payload that is not an object was taken")
	}
	if _, err := j.Append("fine", nil); err != nil {
		t.Errorf("a refused payload broke the journal: %v", err)
	}
	if err := j.f.Close(); err != nil {
		t.Fatal(err)
	}
	_, first := j.Append("lost", nil)
	_, second := j.Append("after", nil)
	if first == nil || !errors.Is(second, first) {
		t.Errorf("after a lost event: %v, then %v", first, second)
	}
}

func TestPayloadsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := map[string]string{"text": rapid.String().Draw(t, "text")}
		line, err := encode(Head{Seq: 1, Event: "e"}, in)
		if err != nil || strings.ContainsRune(string(line), '\n') {
			t.Fatalf("%q, %v", line, err)
		}
		var out struct{ Text string }
		if err := json.Unmarshal(line, &out); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var want struct{ Text string }
		if err := json.Unmarshal(again, &want); err != nil || out != want {
			t.Fatalf("%q became %q", want.Text, out.Text)
		}
	})
}

func FuzzReplay(f *testing.F) {
	f.Add([]byte("{\"seq\":1,\"event\":\"a\"}\n{\"seq\""))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := replay("j", text)
		if r.size > int64(len(text)) || r.TornTail == (r.size == int64(len(text))) {
			t.Fatalf("whole lines end at %d of %d, torn %v", r.size, len(text), r.TornTail)
		}
	})
}
