package record

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// oddLines are lines that no recorder writes: each turns on one rule of the scanner.
var oddLines = []string{
	"", " \t\r", "\x00", "{}", "[]", "null", "1", `"step"`, "{", `{"`, `{"a`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`,
	`{"a" 1}`, `{"a":1 "b":2}`, `{"a":1}}`, `{"a":1} x`, `{a:1}`, `{'a':1}`, `{"a":01}`, `{"a":-}`, `{"a":+1}`, `{"a":.5}`, `{"a":1.}`,
	`{"a":1e}`, `{"a":1e+}`, `{"a":NaN}`, `{"a":Infinity}`, `{"a":tru}`, `{"a":nul`, `{"a":"\x"}`, `{"a":"\u12"}`, `{"a":"\u12g4"}`, `{"a":"`,
	"{\"a\":\"\x01\"}", "{\"a\":\"\x7f\"}", "{\"a\":\"\xff\"}", "{\"\xff\":1}", `{"a":[}`, `{"a":[1,]}`, `{"a":[1 2]}`, `{"a":{]}`, `{"a":[1}]}`,
	`{"type":"new kind","schema":1,"x":{"y":[1,2,{"z":"\ud83d\ude00\ud83d\u0041\""}]}}`,
	`{"type":"new kind","schema":2}`, `{"type":"new kind"}`, `{"type":"new kind","schema":"1"}`, `{"type":null}`, `{"type":5}`, `{"type":"a","type":"b"}`,
	`{"schema":1,"x":1,"type":"new kind"}`, `{"type":"header","schema":1}`, `{"type":"header","schema":2}`, `{"schema":9223372036854775808,"type":"x"}`,
	`{"x":` + strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1) + `,"type":"deep"}`,
	`{"x":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `,"type":"too deep"}`,
	`{"x":` + strings.Repeat(`{"a":`, 100000), `{"x":` + strings.Repeat(`[`, 100000),
}

func TestOddLinesAgainstEncodingJSON(t *testing.T) {
	for _, line := range oddLines {
		agree(t, []byte(line))
	}
	for _, line := range writtenLines {
		agree(t, []byte(line))
	}
}

// Cut anywhere, or with any byte replaced, a line is read as encoding/json reads it.
func TestDamagedLinesAgainstEncodingJSON(t *testing.T) {
	for _, line := range writtenLines {
		for n := range line {
			agree(t, []byte(line[:n]))
		}
		const others = "\x00 \"\\{}[],:-.0e9ntf\xff"
		for n := range line {
			for k := range 3 {
				damaged := []byte(line)
				damaged[n] = others[(5*n+7*k)%len(others)]
				agree(t, damaged)
			}
		}
	}
}

// shuffled re-writes a JSON value in another layout with the same meaning: members in another order, spaces, escapes, unknown members.
func shuffled(r *rand.Rand, value any, out *bytes.Buffer) {
	space := func() { out.WriteString([]string{"", "", " ", "\t", "\r\n  "}[r.IntN(5)]) }
	space()
	switch v := value.(type) {
	case map[string]any:
		names := make([]string, 0, len(v)+1)
		for name := range v {
			names = append(names, name)
		}
		if r.IntN(2) == 0 {
			v["an unknown\nfield é"] = []any{json.Number("-1.5e3"), "\\\"😀\u2028", map[string]any{}, []any{}, nil, true}
			names = append(names, "an unknown\nfield é")
		}
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		out.WriteByte('{')
		for i, name := range names {
			if i > 0 {
				out.WriteByte(',')
			}
			space()
			writeString(r, name, out)
			space()
			out.WriteByte(':')
			shuffled(r, v[name], out)
		}
		out.WriteByte('}')
	case []any:
		out.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			shuffled(r, e, out)
		}
		out.WriteByte(']')
	case string:
		writeString(r, v, out)
	default:
		b, _ := json.Marshal(v)
		out.Write(b)
	}
	space()
}

// writeString escapes some characters that need none.
func writeString(r *rand.Rand, s string, out *bytes.Buffer) {
	const hex = "0123456789abcdef"
	b, _ := json.Marshal(s)
	plain := !bytes.ContainsRune(b, '\\')
	for _, c := range b {
		if plain && c != '"' && c < 0x80 && r.IntN(8) == 0 {
			out.WriteString(`\u00`)
			out.WriteByte(hex[c>>4])
			out.WriteByte(hex[c&15])
			continue
		}
		out.WriteByte(c)
	}
}

func TestOtherLayoutsMeanTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := Line{Kind: KindStep, Step: anyStep(t)}
		text := Append(nil, &line)
		if rapid.Bool().Draw(t, "typed") {
			text = []byte(rapid.SampledFrom(writtenLines).Draw(t, "line"))
		}
		var want Line
		NewDecoder("written").Decode(text, &want)

		var tree any
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		if err := dec.Decode(&tree); err != nil {
			t.Fatal(err)
		}
		var other bytes.Buffer
		shuffled(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)), tree, &other)
		if want.Kind == KindStep {
			d, got := NewDecoder("other"), Line{}
			d.Decode(other.Bytes(), &got)
			if got.Kind != KindStep || !reflect.DeepEqual(got.Step, want.Step) {
				t.Fatalf("%s\ngot  %+v (%v)\nwant %+v", other.Bytes(), got.Step, got.Err, want.Step)
			}
		}
		agreeRapid(t, other.Bytes())
	})
}

// agreeRapid is agree for a rapid test.
func agreeRapid(t *rapid.T, line []byte) {
	want := oracle(line)
	d, got := NewDecoder("oracle"), Line{}
	d.decodeTolerant(line, &got)
	if got.Kind != want.Kind || got.Kind == KindStep && !reflect.DeepEqual(got.Step, want.Step) {
		t.Fatalf("%q: kind %d (%v), want %d", line, got.Kind, got.Err, want.Kind)
	}
}

func TestNoAllocationPerStep(t *testing.T) {
	steps := lines(stream(t, "h200-tp1"))[1:200]
	d, l := NewDecoder("allocations"), Line{}
	for name, decode := range map[string]func([]byte, *Line){"straight": d.Decode, "tolerant": d.decodeTolerant} {
		decode(steps[0], &l) // learns the engine id
		if n := testing.AllocsPerRun(10, func() {
			for _, line := range steps {
				decode(line, &l)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations in %d steps, want none", name, n, len(steps))
		}
	}
}

func TestManyEngineIDsAreNotKept(t *testing.T) {
	d := NewDecoder("ids")
	for i := range 3 * maxIDs {
		d.engines.intern([]byte(strings.Repeat("x", i%100) + string(rune('0'+i))))
	}
	if n := len(d.engines.ids); n > maxIDs {
		t.Errorf("%d ids kept, want at most %d", n, maxIDs)
	}
}

func FuzzDecode(f *testing.F) {
	for _, line := range append(oddLines, writtenLines...) {
		if len(line) < 4096 {
			f.Add([]byte(line))
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) { agree(t, line) })
}
