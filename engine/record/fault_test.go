package record

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what the reader and the checker say into the fault files")

// faultLine expands a line of a fault file. A line is literal text, or one of
//
//	@header  @step N  @footer WRITTEN [dropped N]    a valid line of the recorder
//	@NUL N   @FILL N  @DEEP N                        N zero bytes, N letters, N arrays in each other
//
// followed by any number of "| old | new" replacements. @CR, @TAB and @FF stand for that character, and @CUT for the end of the stream.
func faultLine(t *testing.T, line string) string {
	t.Helper()
	parts := strings.Split(line+" ", " | ") // the last replacement may be empty
	words := strings.Fields(parts[0])
	n := 0
	if len(words) > 1 {
		n, _ = strconv.Atoi(words[1])
	}
	var text string
	switch {
	case len(words) == 0 || words[0][0] != '@':
		return line
	case words[0] == "@header":
		text = string(Append(nil, &Line{Kind: KindHeader, Header: faultHeader()}))
	case words[0] == "@step":
		text = string(Append(nil, &Line{Kind: KindStep, Step: faultStep(int64(n))}))
	case words[0] == "@footer":
		f := Footer{EngineID: "dp0-pid7", Written: int64(n), Encoded: int64(n)}
		if i := slices.Index(words, "dropped"); i > 0 {
			f.Dropped, _ = strconv.ParseInt(words[i+1], 10, 64)
			f.Encoded += f.Dropped
		}
		text = string(Append(nil, &Line{Kind: KindFooter, Footer: f}))
	case words[0] == "@NUL":
		text = strings.Repeat("\x00", n)
	case words[0] == "@FILL":
		text = strings.Repeat("x", n)
	case words[0] == "@DEEP":
		text = `{"type":"deep","x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	default:
		t.Fatalf("unknown macro in %q", line)
	}
	for i := 1; i < len(parts); i += 2 {
		replacement := ""
		if i+1 < len(parts) {
			replacement = strings.TrimSpace(parts[i+1])
		}
		old := strings.TrimSpace(parts[i])
		if strings.Count(text, old) != 1 {
			t.Fatalf("%q stands %d times in %q", old, strings.Count(text, old), text)
		}
		text = strings.Replace(text, old, replacement, 1)
	}
	for _, mark := range []string{"@CR", "@CUT"} {
		if slices.Contains(words, mark) {
			text += mark
		}
	}
	return text
}

func faultHeader() Header {
	return Header{EngineID: "dp0-pid7", StartWallNS: 1_800_000_000_000_000_000, VLLMVersion: "0.24.0", Model: "m", DType: "torch.bfloat16",
		TensorParallel: 1, DataParallel: 1, PipelineParallel: 1, GraphMode: "FULL", BlockSize: 16, Runner: "v1", TorchVersion: "2.11.0",
		PatchHash: "00ff"}
}

// faultStep is a step of three requests, 10 ms after the one before it and 15 ms long.
func faultStep(n int64) Step {
	s := Step{EngineID: "dp0-pid7", StepIndex: n, SubmitWallNS: 1_800_000_000_000_000_000 + 10_000_000*n, SubmitMonoNS: 10_000_000 * n,
		CompleteMonoNS: 10_000_000*n + 15_000_000, ModelExecuted: true, ScheduledRequests: 3, DecodeBatchSize: 2, PrefillRequests: 1,
		PrefillTokens: 100, DecodeTokens: 2, Chunks: Chunks{First: 1, Tokens: 100}, Queues: Queues{Running: 3, Waiting: 1},
		KV:    KV{TotalBlocks: 100, FreeBlocks: 60, UsedBlocks: 40, Usage: 0.4},
		Graph: Graph{Hit: true, Mode: GraphFull, UnpaddedTokens: 102, BucketTokens: 128, PaddingTokens: 26},
		Has:   HasResumed | HasRecompute | HasUnsplitTokens | HasChunkTail | HasPrefixLocal | HasGraph}
	s.Chunks.SizeHist[3], s.ContextHist[0] = 1, 3
	return s
}

func faultStream(t *testing.T, text string) []byte {
	var out bytes.Buffer
	for line := range strings.Lines(text) {
		out.WriteString(faultLine(t, strings.TrimSuffix(line, "\n")) + "\n")
	}
	b := bytes.ReplaceAll(out.Bytes(), []byte("@CR\n"), []byte("\r\n"))
	b = bytes.ReplaceAll(b, []byte("@TAB"), []byte("\t"))
	b = bytes.ReplaceAll(b, []byte("@FF"), []byte("\xff"))
	b, _, _ = bytes.Cut(b, []byte("@CUT"))
	return b
}

var kindNames = map[Kind]string{KindStep: "step", KindHeader: "header", KindProfile: "profile", KindDummyStep: "dummy_step",
	KindFooter: "footer", KindUnknown: "unknown", KindBad: "bad"}

// report says in text what the reader and the checker make of a stream.
func report(r *Reader) string {
	var out strings.Builder
	check := NewChecker()
	for r.Scan() {
		l := r.Line()
		check.Add(l)
		fmt.Fprintf(&out, "line %d at %d, %d bytes: %s", l.Number, l.Offset, l.Len, kindNames[l.Kind])
		switch {
		case l.Kind == KindStep:
			fmt.Fprintf(&out, " %d", l.Step.StepIndex)
		case l.Kind == KindBad && l.Err.TornTail:
			fmt.Fprintf(&out, ", torn tail: %v", l.Err)
		case l.Kind == KindBad:
			fmt.Fprintf(&out, ": %v", l.Err)
		}
		out.WriteString("\n")
	}
	s, c := r.Stats(), check.Result()
	fmt.Fprintf(&out, "lines %d, blank %d, bad %d, torn %d, steps %d, by the scanner %d, bytes %d, dropped %d\n",
		s.Lines, s.Blank, s.Bad, s.Torn, s.Steps, s.Fallback, s.Bytes, c.Dropped)
	if c.MissingFooter {
		out.WriteString("warning: no footer\n")
	}
	if c.WallJumps > 0 {
		fmt.Fprintf(&out, "warning: %d wall clock jumps\n", c.WallJumps)
	}
	for _, name := range invariantNames {
		if v, ok := c.Violations[name]; ok {
			fmt.Fprintf(&out, "%s: %d, first at step %d: %s\n", name, v.Count, v.FirstStep, v.Detail)
		}
	}
	return out.String()
}

func TestFaults(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "faults", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no fault files", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(archive.Files) != 2 || archive.Files[0].Name != "stream" || archive.Files[1].Name != "expect" {
				t.Fatal("want the files stream and expect")
			}
			text := faultStream(t, string(archive.Files[0].Data))
			got := report(NewReader(bytes.NewReader(text), "f"))
			if *update {
				archive.Files[1].Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(archive.Files[1].Data); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if small := report(NewReader(iotest.DataErrReader(iotest.HalfReader(bytes.NewReader(text))), "f")); small != got {
				t.Errorf("read in small pieces\n%s\nat once\n%s", small, got)
			}
		})
	}
}
