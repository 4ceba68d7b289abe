package overlay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockPoll is how often a lock held by another process is tried again: a build takes some tens of milliseconds.
const lockPoll = 20 * time.Millisecond

// errLocked says that another process holds a lock.
var errLocked = errors.New("locked by another process")

// tryLock takes a lock on an open file or folder, unix.LOCK_SH or unix.LOCK_EX. The lock ends when the file is closed
// in every process that shares it by inheritance.
func tryLock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLocked
		case err != nil:
			return fmt.Errorf("cannot lock %s: %w", f.Name(), err)
		default:
			return nil
		}
	}
}

// lockWait takes an exclusive lock, trying until the context ends. It polls, since a blocked flock cannot be
// cancelled.
func lockWait(ctx context.Context, f *os.File) error {
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	for {
		err := tryLock(f, unix.LOCK_EX)
		if !errors.Is(err, errLocked) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot lock %s, another OpProf holds it: %w", f.Name(), ctx.Err())
		case <-ticker.C:
		}
	}
}
