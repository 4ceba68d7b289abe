package overlay

import (
	"path/filepath"
	"strings"
	"testing"
)

// A state that is taken names nothing outside of the tree and of its own folder.
func FuzzTreeState(f *testing.F) {
	f.Add(`{"schema":1,"patch_hash":"a","files":[{"path":"vllm/envs.py","before_sha256":"b","after_sha256":"c","backup":"old-0"}]}`)
	f.Add(`{"schema":1,"files":[{"path":"../outside","after_sha256":""}]}`)
	f.Add(`{"schema":1,"files":[{"path":"vllm/new","backup":"a/../../b"}]}`)
	f.Add(`{"schema":2}`)
	f.Add(`[`)
	s := Site{Dir: "/site"}
	f.Fuzz(func(t *testing.T, text string) {
		state, err := parseTreeState([]byte(text))
		if err != nil {
			return
		}
		for _, file := range state.Files {
			if name := s.file(file.Path); !strings.HasPrefix(name, "/site") {
				t.Errorf("%q leads to %s", text, name)
			}
			if name := filepath.Join(stateDir(s), file.Backup); !strings.HasPrefix(name, stateDir(s)) {
				t.Errorf("%q leads to %s", text, name)
			}
		}
	})
}

// A version is one word of the file that it is read from.
func FuzzVersion(f *testing.F) {
	f.Add("Name: vllm\nVersion: 0.24.0+cpu\n")
	f.Add("Version:\n")
	f.Add("__version__ = version = \"0.24.0\"")
	f.Add("version = ''")
	f.Fuzz(func(t *testing.T, text string) {
		for _, version := range []string{firstGroup(metadataVersion, []byte(text)), firstGroup(versionLine, []byte(text))} {
			if strings.ContainsAny(version, " \n") || !strings.Contains(text, version) {
				t.Errorf("version %q of %q", version, text)
			}
			if public := (Site{Version: version}).PublicVersion(); !strings.HasPrefix(version, public) || strings.Contains(public, "+") {
				t.Errorf("public version %q of %q", public, version)
			}
		}
	})
}
