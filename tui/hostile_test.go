package tui

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"opprof/engine/alert"
	"opprof/engine/record"
	"opprof/engine/rundir"
	"opprof/engine/serverlog"
	"opprof/engine/vllm"
	"opprof/tui/theme"
)

// hostileSource writes a text into everything that comes from outside.
type hostileSource struct {
	*serverSource
	text string
}

func (s hostileSource) Warnings() []alert.Warning {
	return []alert.Warning{{Rule: alert.KVFull, Engine: s.text, Unit: s.text, Count: 1, Active: true}}
}

func (s hostileSource) Contents(context.Context) (*rundir.Contents, error) {
	return &rundir.Contents{
		Manifest: &rundir.Manifest{ID: s.text, Versions: map[string]string{s.text: s.text}, Model: rundir.Model{Name: s.text},
			Argv: []string{s.text}, Env: map[string]string{s.text: s.text}, Exit: &rundir.Exit{State: s.text, Reason: s.text}},
		Config: s.text, Problems: []string{s.text}, Files: []rundir.File{{Path: s.text, Bytes: 1}},
	}, nil
}

func (s hostileSource) Metrics(context.Context) (*vllm.Metrics, error) {
	return nil, errors.New(s.text)
}

// sgr are the only sequences that a frame may hold: those that the renderer writes for styles.
var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// strange reports the first rune of a frame that moves the cursor, changes the terminal, or is not one column wide everywhere.
func strange(content string, w int) error {
	if !utf8.ValidString(content) {
		return errors.New("invalid UTF-8")
	}
	for _, line := range strings.Split(sgr.ReplaceAllString(content, ""), "\n") {
		for _, r := range line {
			if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r >= 0x2e80 {
				return fmt.Errorf("rune %U in %q", r, line)
			}
		}
		if n := utf8.RuneCountInString(line); n != w {
			return fmt.Errorf("a line of %d columns at width %d: %q", n, w, line)
		}
	}
	return nil
}

// FuzzOutsideText: whatever models, engines, paths, log lines, errors and what a reader types or pastes hold, no page, overlay or title of the
// window shows a control byte or a rune that is not one column wide.
func FuzzOutsideText(f *testing.F) {
	for _, s := range []string{
		"\x1b]0;evil\a\x1b[2J", "\x1b[31mred\x1b[0m", "\u202eabc\u2066x\u2069", "a\x00b\r\nc\td", "\xff\xfe\x9b31m", "日本語 🙂 e\u0301", "\u009b2J\u0090q\u009c",
		"\x1bP+q544e\x1b\\", strings.Repeat("x", 300), "%s%n", "\u200d\ufe0f", "\x7f\x08\x08",
	} {
		f.Add(s, uint8(0))
	}
	lines := recording(f, "h200-tp1", 20)
	f.Fuzz(func(t *testing.T, text string, which uint8) {
		hostile := make([]record.Line, len(lines))
		copy(hostile, lines)
		for i := range hostile {
			hostile[i].Step.EngineID, hostile[i].Header.EngineID, hostile[i].Header.Model = text, text, text
		}
		run := rundir.Description{
			ID: text, Path: text, Kind: "live", Model: text, VLLMVersion: text, PatchHash: text, TensorParallel: 1, GraphMode: text,
			Streams: []rundir.Stream{{Path: text, FirstBad: text, Error: text}}, Problems: []string{text}, Traces: []string{text}, ServerLog: text,
		}
		src := &serverSource{fakeSource: &fakeSource{run: run, store: filled(hostile)}, path: t.TempDir() + "/server.log"}
		src.log = serverlog.New(src.path, serverlog.Options{})
		defer src.log.Close()
		src.write(t, "INFO 11-30 01:02:03 [core.py:1] "+text+"\n"+text+"\n")
		names := themeNames()
		s := newScreen(t, hostileSource{src, text}, newestTime(lines).Add(time.Second), Options{Theme: theme.Prefs{Theme: names[int(which)%len(names)]}, Note: text})
		check := func(what string) {
			t.Helper()
			if err := strange(s.content(), s.m.width); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if title := s.m.View().WindowTitle; strings.ContainsFunc(title, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e }) {
				t.Fatalf("%s: window title %q", what, title)
			}
		}
		for _, size := range [][2]int{{80, 24}, {180, 50}} {
			s.size(size[0], size[1])
			s.tick(time.Second)
			for _, keys := range []string{"1", "! esc", "E", "e esc", "2", "i", "3", "tab", "tab", "tab", "1 /"} {
				s.keys(strings.Fields(keys)...)
				s.tick(time.Second)
				check(fmt.Sprintf("%v after %q", size, keys))
				for line := range strings.Lines(s.m.clip()) {
					if r := strings.IndexFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e }); r >= 0 {
						t.Fatalf("copied after %q: %q", keys, line)
					}
				}
				if n, want := strings.Count(s.m.clip(), "\n"), len(s.m.page().copied()); n != want {
					t.Fatalf("copied after %q: %d lines, want %d", keys, n, want)
				}
			}
			s.m.pasted(text)
			check("pasted")
			s.keys("enter")
			check("entered")
			s.keys("esc")
		}
		s.send(noticeMsg(text))
		check("notice")
	})
}
