package runner

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"opprof/campaign/gate"
	"opprof/campaign/progress"
)

// recordedCampaign unpacks a campaign that a GPU ran: testdata/campaign/SOURCE.tsv says how it came.
func recordedCampaign(t *testing.T) string {
	t.Helper()
	from, dir := filepath.Join("..", "..", "testdata", "campaign", "h200-tp1"), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	packed, err := filepath.Glob(filepath.Join(from, "*.zst"))
	if err != nil || len(packed) == 0 {
		t.Fatal("no results", err)
	}
	for _, path := range packed {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		z.Close()
		f.Close()
		into := filepath.Join(dir, RunsName, strings.TrimSuffix(filepath.Base(path), ".json.zst"), "bench")
		if err == nil {
			err = os.MkdirAll(into, 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(into, resultName), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestARecordedCampaignStands: a paused campaign of a GPU, its plan from before plans kept their loads. The figures were calculated by
// Python from the lists of requests of the two results.
func TestARecordedCampaignStands(t *testing.T) {
	dir := recordedCampaign(t)
	s := stand(t, dir)
	if s.State != progress.Paused || !strings.Contains(s.Reason, "the time is used up") || s.Verdict != gate.Undecided || len(s.Cells) != 1 || len(s.Cells[0].Runs) != 12 {
		t.Fatalf("%+v", s)
	}
	done := 0
	for _, r := range s.Cells[0].Runs {
		if r.State == progress.Done {
			done++
		}
	}
	if done != 2 {
		t.Errorf("%d runs are done", done)
	}
	rep, err := Report(dir)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Verdict != gate.Undecided || rep.Left != 5 || len(rep.Cells) != 1 || len(rep.Cells[0].Runs) != 2 || len(rep.Cells[0].Pairs) != 1 || rep.Cells[0].Pairs[0].Void != "" {
		t.Fatalf("%+v", rep)
	}
	want := []map[string]float64{
		{"throughput": 2129.399539556696, "ttft_p50": 272.5938739999947, "ttft_p95": 1697.1146962500818, "tpot_p50": 22.29572067648663, "tpot_p95": 41.52255407801418},
		{"throughput": 2833.171296083876, "ttft_p50": 212.0793844999298, "ttft_p95": 475.7590285499987, "tpot_p50": 20.50709966405375, "tpot_p95": 26.647930851063823},
	}
	for i, run := range rep.Cells[0].Runs {
		for name, v := range want[i] {
			if got := run.Metrics[name]; math.Abs(got/v-1) > 1e-9 {
				t.Errorf("%s: %s is %v, want %v", run.ID, name, got, v)
			}
		}
	}
	if same := rep.Cells[0].Same; same.Pairs != 1 || same.Alike != 1 {
		t.Errorf("same texts: %+v", same)
	}
}
