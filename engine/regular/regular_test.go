package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("file"), []byte("text"), 0o600),
		syscall.Mkfifo(at("pipe"), 0o600),
		os.Mkdir(at("folder"), 0o700),
		os.Symlink("file", at("link")),
		os.Symlink("pipe", at("link to a pipe")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	socket, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, c := range []struct {
		path string
		want error
		says string
	}{
		{at("file"), nil, ""},
		{at("link"), nil, ""},
		{at("pipe"), ErrNotRegular, "a named pipe"},
		{at("link to a pipe"), ErrNotRegular, "a named pipe"},
		{at("folder"), ErrNotRegular, "a folder"},
		{at("socket"), ErrNotRegular, "not a regular file"},
		{"/dev/zero", ErrNotRegular, "a device"},
		{at("none"), fs.ErrNotExist, "no such file"},
	} {
		text, err := Read(c.path, 4)
		if !errors.Is(err, c.want) || c.want == nil && (err != nil || string(text) != "text") {
			t.Errorf("%s: %q, %v, want %v", c.path, text, err, c.want)
		}
		if err != nil && !(strings.Contains(err.Error(), c.says) && strings.Contains(err.Error(), c.path)) {
			t.Errorf("%s: the error is %q, want %q in it", c.path, err, c.says)
		}
	}
	if _, err := Read(at("file"), 3); !errors.Is(err, ErrTooLarge) {
		t.Errorf("four bytes of three: %v", err)
	}
	if _, err := OpenFile(at("pipe"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); !errors.Is(err, ErrNotRegular) {
		t.Errorf("writing to a pipe that nobody reads: %v", err)
	}
}

// A sentence that names the file is told only what went wrong with it; what else an error says stays.
func TestCause(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing")
	_, err := Open(path)
	if got := Cause(err, path); got.Error() != "no such file or directory" || !errors.Is(got, fs.ErrNotExist) {
		t.Errorf("of the file: %v", got)
	}
	for _, other := range []error{fmt.Errorf("part 2: %w", err), io.ErrUnexpectedEOF, &fs.PathError{Op: "stat", Path: path + "/b", Err: fs.ErrPermission}} {
		if got := Cause(other, path); got != other {
			t.Errorf("%v became %v", other, got)
		}
	}
}
