package compact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"opprof/engine/frames"
	"opprof/engine/record"
	"opprof/testdata"
)

const name = "opprof-v1-dp0-pid1-1.jsonl"

// killAt names the step at which this process, run again as a child, is to be killed.
const killAt = "OPPROF_TEST_KILL_AT"

func TestMain(m *testing.M) {
	if step, ok := os.LookupEnv(killAt); ok {
		_, err := Stream(context.Background(), os.Getenv(killAt+"_PATH"), Options{at: func(at string) {
			if at == step {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {} // the signal may come a moment later
			}
		}})
		fmt.Fprintln(os.Stderr, "not killed:", err)
		os.Exit(7)
	}
	goleak.VerifyTestMain(m)
}

func recording(t testing.TB, name string) []byte {
	t.Helper()
	data, err := testdata.Recording(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func put(t testing.TB, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

// files lists a folder, hidden names too.
func files(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func unpacked(t testing.TB, path string) []byte {
	t.Helper()
	f, err := frames.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestStream(t *testing.T) {
	whole := recording(t, "h200-tp2-eager")
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"a whole stream", whole},
		{"a torn tail", whole[:len(whole)-100]},
		{"bad lines", append([]byte("nonsense\n\n\n"), whole...)},
		{"no line end at all", []byte("x")},
		{"larger than a frame", recording(t, "h200-tp1")},
	} {
		dir := t.TempDir()
		path := put(t, filepath.Join(dir, name), c.data)
		at := time.Unix(1_700_000_000, 123_000_000)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		var told int64
		r, err := Stream(t.Context(), path, Options{Workers: 2, Progress: func(done, _ int64) { told = done }})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := files(t, dir); !slices.Equal(got, []string{name + ".zst"}) {
			t.Errorf("%s: the folder holds %q", c.name, got)
		}
		if !bytes.Equal(unpacked(t, r.Path), c.data) || r.Before != int64(len(c.data)) || told != 2*r.Before {
			t.Errorf("%s: %+v, progress to %d of %d", c.name, r, told, 2*len(c.data))
		}
		st, err := os.Stat(r.Path)
		if err != nil || st.Mode().Perm() != 0o640 || !st.ModTime().Equal(at) || st.Size() != r.After {
			t.Errorf("%s: mode %v, time %v, %d bytes of %d, %v", c.name, st.Mode(), st.ModTime(), st.Size(), r.After, err)
		}
		lines, checker := record.NewReader(bytes.NewReader(c.data), path), record.NewChecker()
		for lines.Scan() {
			checker.Add(lines.Line())
		}
		if want := checker.Result(); want.Steps != r.Check.Steps || want.BadLines != r.Check.BadLines || want.TornTail != r.Check.TornTail {
			t.Errorf("%s: check %+v, want %+v", c.name, r.Check, want)
		}
	}
}

// Whatever the step at which a process is killed, the lines have a name, and the next call ends the work and leaves nothing behind.
func TestKilledAtEveryStep(t *testing.T) {
	data := recording(t, "h200-tp2-eager")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{stepBegin, stepCreated, stepWritten, stepSynced, stepRead, stepNamed, stepSettled, stepRemoved} {
		dir := t.TempDir()
		path := put(t, filepath.Join(dir, name), data)
		child := exec.Command(self)
		child.Env = append(os.Environ(), killAt+"="+step, killAt+"_PATH="+path)
		out, err := child.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%s: %v, %s", step, err, out)
		}
		left := ""
		for _, p := range []string{path, path + ".zst"} {
			if _, err := os.Stat(p); err == nil && bytes.Equal(unpacked(t, p), data) {
				left = p
			}
		}
		if left == "" {
			t.Fatalf("%s: the lines are lost; the folder holds %q", step, files(t, dir))
		}
		_, err = Stream(t.Context(), path, Options{})
		if gone := errors.Is(err, fs.ErrNotExist); err != nil && !(gone && step == stepRemoved) {
			t.Errorf("%s: the next call: %v", step, err)
		}
		if got := files(t, dir); !slices.Equal(got, []string{name + ".zst"}) || !bytes.Equal(unpacked(t, path+".zst"), data) {
			t.Errorf("%s: afterwards the folder holds %q", step, got)
		}
	}
}

// Another end at any step, by an error or by the context, leaves the plain file and no other.
func TestGivenUpAtEveryStep(t *testing.T) {
	data := recording(t, "h200-tp2-eager")
	for _, step := range []string{stepBegin, stepCreated, stepWritten, stepSynced} {
		dir := t.TempDir()
		path := put(t, filepath.Join(dir, name), data)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Stream(ctx, path, Options{at: func(at string) {
			if at == step {
				cancel()
			}
		}})
		if got := files(t, dir); !errors.Is(err, context.Canceled) || !slices.Equal(got, []string{name}) {
			t.Errorf("%s: %v, the folder holds %q", step, err, got)
		}
	}
}

type disk struct {
	w    io.Writer
	left int
}

func (d *disk) Write(p []byte) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, syscall.ENOSPC
	}
	return d.w.Write(p)
}

func TestAFullDiskLeavesTheFile(t *testing.T) {
	data := recording(t, "h200-tp1")
	for _, room := range []int{0, 10_000, 100_000} {
		dir := t.TempDir()
		path := put(t, filepath.Join(dir, name), data)
		_, err := Stream(t.Context(), path, Options{through: func(w io.Writer) io.Writer { return &disk{w, room} }})
		if got := files(t, dir); !errors.Is(err, syscall.ENOSPC) || !slices.Equal(got, []string{name}) || !bytes.Equal(unpacked(t, path), data) {
			t.Errorf("room for %d bytes: %v, the folder holds %q", room, err, got)
		}
	}
}

type flipping struct{ w io.Writer }

func (f flipping) Write(p []byte) (int, error) {
	b := bytes.Clone(p)
	b[len(b)/3] ^= 1
	return f.w.Write(b)
}

func TestACopyThatDoesNotReadBackIsNotTaken(t *testing.T) {
	dir := t.TempDir()
	path := put(t, filepath.Join(dir, name), recording(t, "h200-tp2-eager"))
	_, err := Stream(t.Context(), path, Options{through: func(w io.Writer) io.Writer { return flipping{w} }})
	if got := files(t, dir); err == nil || !slices.Equal(got, []string{name}) {
		t.Errorf("%v, the folder holds %q", err, got)
	}
}

func TestRefused(t *testing.T) {
	data := recording(t, "h200-tp2-eager")
	writer := func(flag int) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			f, err := os.OpenFile(put(t, path, data), flag, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = f.Close() })
		}
	}
	check := func(t *testing.T, err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		says string
		make func(t *testing.T, path string)
	}{
		{"open for writing", writer(os.O_WRONLY | os.O_APPEND)},
		{"open for writing", writer(os.O_RDWR)},
		{"a link", func(t *testing.T, path string) {
			put(t, path+".other", data)
			check(t, os.Symlink(path+".other", path))
		}},
		{"2 names", func(t *testing.T, path string) { check(t, os.Link(put(t, path, data), path+".2")) }},
		{"not a regular file", func(t *testing.T, path string) { check(t, syscall.Mkfifo(path, 0o600)) }},
		{"not a regular file", func(t *testing.T, path string) { check(t, os.Mkdir(path, 0o700)) }},
		{"empty", func(t *testing.T, path string) { put(t, path, nil) }},
		{"does not hold the same lines", func(t *testing.T, path string) { put(t, put(t, path, data)+".zst", []byte("something")) }},
		{"does not hold the same lines", func(t *testing.T, path string) {
			put(t, path, data[:len(data)/2])
			_, err := Stream(t.Context(), path, Options{})
			check(t, err)
			put(t, path, data)
		}},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		c.make(t, path)
		before := files(t, dir)
		_, err := Stream(t.Context(), path, Options{})
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.says) || !slices.Equal(files(t, dir), before) {
			t.Errorf("%v, want %q; the folder holds %q", err, c.says, files(t, dir))
		}
	}
	for _, other := range []string{"a.jsonl.zst", "a.jsonl.gz", "journal.jsonl", "a.txt"} {
		var refused *RefusedError
		if _, err := Stream(t.Context(), put(t, filepath.Join(t.TempDir(), other), data), Options{}); !errors.As(err, &refused) {
			t.Errorf("%s: %v", other, err)
		}
	}
}

func TestAFolderThatIsALink(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, name), []byte("x\n"))
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	var refused *RefusedError
	if _, err := Stream(t.Context(), filepath.Join(link, name), Options{}); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
}

// A file that changes while it is compressed stays.
func TestChangedMeanwhile(t *testing.T) {
	data := recording(t, "h200-tp2-eager")
	for what, change := range map[string]func(path string) error{
		"grown": func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("x")
			return errors.Join(err, f.Close())
		},
		"cut":      func(path string) error { return os.Truncate(path, 100) },
		"replaced": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, data, 0o600)) },
		"linked":   func(path string) error { return os.Link(path, path+".1") },
	} {
		dir := t.TempDir()
		path := put(t, filepath.Join(dir, name), data)
		_, err := Stream(t.Context(), path, Options{at: func(at string) {
			if at == stepRead {
				if err := change(path); err != nil {
					t.Error(err)
				}
			}
		}})
		var refused *RefusedError
		if got := files(t, dir); !errors.As(err, &refused) || got[0] != name || slices.Contains(got, name+".zst") {
			t.Errorf("%s: %v, the folder holds %q", what, err, got)
		}
	}
}

func TestDryRunTouchesNothing(t *testing.T) {
	dir := t.TempDir()
	path := put(t, filepath.Join(dir, name), []byte("x\n"))
	put(t, filepath.Join(dir, "."+name+".zst.123.tmp"), nil)
	r, err := Stream(t.Context(), path, Options{DryRun: true})
	if err != nil || r.Before != 2 || len(files(t, dir)) != 2 {
		t.Errorf("%+v, %v, %q", r, err, files(t, dir))
	}
}

// Where the file system does not tell of writers, a file must have rested: for long if its recorder did not close it.
func TestRest(t *testing.T) {
	whole := recording(t, "h200-tp2-eager")
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		data []byte
		age  time.Duration
		says string
	}{
		{whole, 9 * time.Minute, "ends with a footer"},
		{whole, 11 * time.Minute, ""},
		{whole[:len(whole)/2], 11 * time.Minute, "does not end with a footer"},
		{whole[:len(whole)/2], 8 * 24 * time.Hour, ""},
		{whole[:len(whole)-2], time.Hour, "does not end with a footer"},
		{whole, -time.Hour, "ends with a footer"}, // a clock that is behind that of the file server
	} {
		path := put(t, filepath.Join(t.TempDir(), name), c.data)
		if err := os.Chtimes(path, now.Add(-c.age), now.Add(-c.age)); err != nil {
			t.Fatal(err)
		}
		s, err := openSource(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.restless(now); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%d bytes, %s old: %q, want %q", len(c.data), c.age, got, c.says)
		}
		s.close()
	}
}
