package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"opprof/engine/rundir"
)

// listen opens the control socket, for this user alone. A socket that nobody answers is a killed supervisor's and is replaced; the run's
// journal, locked before, is what keeps two supervisors apart.
func listen(path string) (net.Listener, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, rundir.DirMode); err != nil {
		return nil, fmt.Errorf("cannot make the folder of the control socket: %w", err)
	}
	if err := private(dir); err != nil {
		return nil, err
	}
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = c.Close()
		return nil, fmt.Errorf("another supervisor answers at %s", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot replace the control socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the control socket: %w", err)
	}
	if err := os.Chmod(path, rundir.FileMode); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot protect the control socket: %w", err), l.Close())
	}
	return ownListener{l}, nil
}

// private refuses a folder in which somebody else could put a socket of the same name.
func private(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("cannot look at the folder of the control socket: %w", err)
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !st.IsDir() || !ok || int(sys.Uid) != os.Getuid() || st.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("the control socket's folder %s must be a folder of yours with mode 0700; it is %s: remove it or set XDG_RUNTIME_DIR", dir, st.Mode())
	}
	return nil
}

// ownListener hands out connections of this user and of root.
type ownListener struct{ net.Listener }

func (l ownListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if uid, err := peer(c); err == nil && mayConnect(uid) {
			return c, nil
		}
		_ = c.Close()
	}
}

func mayConnect(uid uint32) bool { return uid == 0 || int(uid) == os.Getuid() }

// peer is the user at the other end.
func peer(c net.Conn) (uint32, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return 0, errors.New("not a Unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var optErr error
	if err := raw.Control(func(fd uintptr) { cred, optErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return 0, err
	}
	if optErr != nil {
		return 0, optErr
	}
	return cred.Uid, nil
}
