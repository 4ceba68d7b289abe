package cmd

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"opprof/testdata"
)

// Two triggers waited at once, and what was armed later ran first; one window was somebody else's, and the last one is told by the journal alone.
// Every reader calls each window by the number that it was armed under, by time, and the stranger's by a name of its own.
func TestWindowsHaveOneNumber(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run-1")
	starts := []struct{ number, after, startNS int64 }{
		{1, 245, 1796003501016091943}, {2, 917, 1796003511285781055}, {4, 1235, 1796003520633922224}, {3, 1310, 1796003534843387956}, {0, 1417, 1796003539877429956},
		{5, 1844, 1796003549841764386}, {6, 2264, 1796003561990251995},
	}
	want := []string{"1", "2", "4", "3", "t1", "5", "6"}
	records, err := testdata.Recording("h200-tp1")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "layer1", "opprof-v1-dp0-pid1090-1.jsonl"), string(records))
	unpackTraces(t, "h200-tp1", filepath.Join(dir, "kineto"))
	var journal strings.Builder
	for i, s := range starts {
		if s.number == 0 {
			continue
		}
		for k, state := range []string{"starting", "recording", "flushing", "verified"} {
			fmt.Fprintf(&journal, `{"seq":%d,"generation":1,"wall_ns":%d,"mono_ns":1,"boot_id":"b","event":"window_state","n":%d,"to":%q}`+"\n", 4*i+k, s.startNS-1_000_000+int64(k)*700_000_000, s.number, state)
		}
		if s.number < 6 {
			writeFile(t, filepath.Join(dir, "windows", strconv.FormatInt(s.number, 10), "summary.json"),
				fmt.Sprintf(`{"schema":1,"n":%d,"state":"verified","engines":[{"id":"dp0-pid1090","after_step":%d}],"ranks":[]}`, s.number, s.after))
		}
	}
	writeFile(t, filepath.Join(dir, "journal.jsonl"), journal.String())

	check := func(what string, got []string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: windows %v, want %v", what, got, want)
		}
	}
	type named struct {
		Name string `json:"name"`
	}
	var out struct {
		Windows []named `json:"windows"`
		Frame   struct {
			Windows []named `json:"windows"`
		} `json:"frame"`
	}
	names := func(list []named) (out []string) {
		for _, w := range list {
			out = append(out, w.Name)
		}
		return out
	}
	ask := func(words ...string) {
		t.Helper()
		out.Windows, out.Frame.Windows = nil, nil
		if err := json.Unmarshal([]byte(command(t, words...)), &out); err != nil {
			t.Fatal(words, err)
		}
	}
	ask("trace", "--json", dir)
	check("trace", names(out.Windows))
	ask("trace", "--json", filepath.Join(dir, "kineto"))
	check("trace of the traces alone", names(out.Windows))
	ask("report", "--json", dir)
	check("report", names(out.Windows))
	check("its frame", names(out.Frame.Windows))
	check("trace as CSV", firstColumn(t, command(t, "trace", "--csv", dir)))
	var learned []string
	text := command(t, "calibrate", "--json", dir)
	for _, name := range want {
		if strings.Contains(text, `"`+dir+" window "+name+`"`) {
			learned = append(learned, name)
		}
	}
	check("calibrate", learned)
	merged(t, dir)
	if err := os.Remove(filepath.Join(dir, "journal.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "windows")); err != nil {
		t.Fatal(err)
	}
	want = []string{"1", "2", "3", "4", "5", "6", "7"}
	ask("trace", "--json", dir)
	check("trace of a bare folder", names(out.Windows))
	ask("report", "--json", dir)
	check("report of a bare folder", names(out.Windows))
}

// firstColumn are the values of the first column below its heading, each once, in their order.
func firstColumn(t *testing.T, text string) (out []string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		if !slices.Contains(out, row[0]) {
			out = append(out, row[0])
		}
	}
	return out
}

// merged checks that the export of kernels takes a window by its name, and refuses one that there is not.
func merged(t *testing.T, dir string) {
	t.Helper()
	for name, step := range map[string]string{"3": `"step_index":1312`, "t1": `"step_index":1419`} {
		path := filepath.Join(t.TempDir(), "out.json")
		command(t, "export", "perfetto", dir, "--window", name, "--from", "1", "--to", "1", "--out", path)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "window "+name+", rank 0") || !strings.Contains(string(text), step) {
			t.Errorf("the kernels of window %s are not those of %s", name, step)
		}
	}
	env, _, stderr := memoryEnv(map[string]string{"HOME": t.TempDir()}, "export", "perfetto", dir, "--window", "7", "--out", filepath.Join(t.TempDir(), "out.json"))
	if code := Main(env); code != ExitUsage || !strings.Contains(stderr.String(), "1, 2, 4, 3, t1, 5, 6") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
