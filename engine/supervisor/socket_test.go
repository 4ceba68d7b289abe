package supervisor

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// nobody is a user that owns nothing.
const nobody = 65534

// TestOnlyTheOwnUserIsHeard: a connection of another user is closed without a byte, even where folder and socket would let it in.
func TestOnlyTheOwnUserIsHeard(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can connect as somebody else")
	}
	dir, err := os.MkdirTemp("", "opprof-") // t.TempDir is closed to others, further up
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	plain, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(path, 0o666)); err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 2)
	go func() {
		for {
			c, err := (ownListener{plain}).Accept()
			if err != nil {
				close(accepted)
				return
			}
			_, _ = io.WriteString(c, "heard")
			_ = c.Close()
			accepted <- c
		}
	}()
	if got, err := readAs(nobody, path); err != nil || got != "" {
		t.Errorf("somebody else heard %q, %v", got, err)
	}
	if got, err := readAs(0, path); err != nil || got != "heard" {
		t.Errorf("the own user heard %q, %v", got, err)
	}
	plain.Close()
	n := 0
	for range accepted {
		n++
	}
	if n != 1 {
		t.Errorf("%d connections were accepted", n)
	}
}

// readAs connects to a socket as a user and reads to the end. The system notes the user of the thread that connects: it is a thread of its
// own, which ends with its goroutine.
func readAs(uid uintptr, path string) (string, error) {
	type outcome struct {
		text string
		err  error
	}
	done := make(chan outcome)
	go func() {
		runtime.LockOSThread()
		text, err := func() (string, error) {
			if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, uid, uid, uid); errno != 0 {
				return "", errno
			}
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return "", err
			}
			defer unix.Close(fd)
			if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
				return "", err
			}
			buffer := make([]byte, 64)
			n, err := unix.Read(fd, buffer)
			if errors.Is(err, unix.ECONNRESET) {
				return "", nil // it was closed as soon as it was there
			}
			return string(buffer[:max(n, 0)]), err
		}()
		done <- outcome{text, err}
	}()
	o := <-done
	return o.text, o.err
}
