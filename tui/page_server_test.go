package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"opprof/engine/rundir"
	"opprof/engine/serverlog"
	"opprof/engine/vllm"
	"opprof/tui/theme"
)

// serverScreenOf shows the server page of a run with a manifest, a configuration, metrics and files.
func serverScreenOf(t testing.TB, w, h int, opt Options, change func(*serverSource)) *screen {
	t.Helper()
	src := newServerSource(t, "finished", serverlog.Options{})
	src.write(t, recordedLog(t))
	text, err := os.ReadFile(filepath.Join("..", "engine", "audit", "testdata", "h200-tp2.txt"))
	must(t, err)
	m, err := vllm.ReadMetrics(strings.NewReader(string(text)))
	must(t, err)
	length, perStep := int64(32768), 915.5
	src.metrics = &m
	src.contents = &rundir.Contents{
		Manifest: &rundir.Manifest{
			ID: "h200-tp2", Versions: map[string]string{"vllm": "0.24.0", "torch": "2.11.0"}, Model: rundir.Model{Name: "Qwen3-30B-A3B", MaxModelLen: &length},
			Argv: []string{"vllm", "serve", "Qwen3-30B-A3B"}, Env: map[string]string{"VLLM_OPPROF_DIR": "/runs/h200-tp2/layer1"}, BytesPerStep: &perStep,
			Exit: &rundir.Exit{State: "stopped", Reason: "asked to"},
		},
		Config: "[server]\nport = 8011\n", Bytes: 7_044_807, Problems: []string{"cannot list kineto: permission denied"},
		Files: []rundir.File{{Path: "layer1/opprof-v1-dp0-pid1960-1796003840780.jsonl", Bytes: 6_620_000, ModNS: 1796003994137342713}, {Path: "server.log", Bytes: 424_807, ModNS: 1796003996000000000}},
	}
	if change != nil {
		change(src)
	}
	s := newServerScreen(t, src, opt)
	s.size(w, h)
	s.tick(0)
	s.keys("3")
	s.tick(0)
	return s
}

// TestServerGoldens holds the server page at four sizes as plain text, and its styles in every theme.
func TestServerGoldens(t *testing.T) {
	scenes := map[string]struct {
		keys   string
		change func(*serverSource)
	}{
		"run":     {"", nil},
		"audit":   {"shift+tab", nil},
		"start":   {"tab", nil},
		"files":   {"tab tab", nil},
		"bottom":  {"G", nil},
		"nothing": {"shift+tab", func(s *serverSource) { s.contents, s.metrics = &rundir.Contents{}, nil }},
	}
	for name, sc := range scenes {
		for _, size := range logSizes {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				s := serverScreenOf(t, size[0], size[1], Options{}, sc.change)
				s.content()
				s.keys(strings.Fields(sc.keys)...)
				golden.RequireEqual(t, s.plain())
			})
		}
	}
	for _, th := range theme.All() {
		t.Run("styled/"+th.Name, func(t *testing.T) {
			golden.RequireEqual(t, serverScreenOf(t, 180, 50, Options{Theme: theme.Prefs{Theme: th.Name}}, nil).content())
		})
	}
	t.Run("ascii", func(t *testing.T) {
		golden.RequireEqual(t, serverScreenOf(t, 120, 40, Options{Theme: theme.Prefs{Glyphs: "ascii"}}, nil).plain())
	})
}

// TestServerSays is a table of facts about what the page holds.
func TestServerSays(t *testing.T) {
	for _, tt := range []struct {
		name, keys, says string
		change           func(*serverSource)
	}{
		{"difference in words", "", "differs", nil},
		{"difference by a mark", "", "×  steps that ran the model", nil},
		{"the reason", "", "newer than the last step", nil},
		{"equal figures", "", "✓  waiting and deferred", nil},
		{"manifest", "", "asked to", nil},
		{"configuration", "G", "port = 8011", nil},
		{"environment", "j j j j j j j j j j j j j j j j j j j j j j", "VLLM_OPPROF_DIR", nil},
		{"problems", "G", "permission denied", nil},
		{"no manifest", "", "not started by opprof launch", func(s *serverSource) { s.contents = &rundir.Contents{} }},
		{"no metrics", "", "no metrics.txt", func(s *serverSource) { s.metrics = nil }},
		{"no footer yet", "", "no footer", func(s *serverSource) { s.contents = &rundir.Contents{} }},
		{"start-up", "", "configuring", nil},
		{"explain", "e", "explain: server", nil},
		{"copy", "y", "copied to the clipboard", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serverScreenOf(t, 180, 50, Options{}, tt.change)
			for _, k := range strings.Fields(tt.keys) {
				s.content() // a text knows how far it scrolls when it was drawn
				s.keys(k)
			}
			got := s.plain()
			lineWidths(t, got, 180, 50)
			if !strings.Contains(got, tt.says) {
				t.Errorf("%q is not on the screen:\n%s", tt.says, got)
			}
		})
	}
}

// TestServerIsIdle: a finished run that is known whole is not asked about again.
func TestServerIsIdle(t *testing.T) {
	s := serverScreenOf(t, 120, 40, Options{}, nil)
	s.source.asked()
	before := s.content()
	for range 20 {
		s.tick(0)
	}
	if n := len(s.source.asked()); n != 0 || s.content() != before {
		t.Errorf("%d questions, picture changed %v", n, s.content() != before)
	}
}

// TestServerCopy: what is copied are the rows and figures, without a border.
func TestServerCopy(t *testing.T) {
	s := serverScreenOf(t, 120, 40, Options{}, nil)
	s.keys("shift+tab")
	text := s.m.clip()
	if !strings.Contains(text, "prompt tokens computed") || !strings.Contains(text, "Layer 1") || strings.ContainsAny(text, "│╭╮╰╯") {
		t.Errorf("copied %q", text)
	}
}
