package notes

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"opprof/engine/regular"
	"opprof/engine/rundir"
)

// Book is the notes of one run. Any goroutine may use it.
type Book struct {
	inside  string // file in the run's folder
	outside string // file under the state folder; "" for none
	now     func() time.Time

	mu   sync.Mutex
	list *List // as it was read last; nil before
	seen string
}

// NewBook opens nothing yet. dir is the run's folder; stateDir is where notes lie of runs whose folder cannot be written, "" for nowhere.
func NewBook(dir, stateDir string, now func() time.Time) *Book {
	b := &Book{inside: filepath.Join(dir, rundir.NotesName), now: now}
	if stateDir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			abs = dir
		}
		sum := sha256.Sum256([]byte(abs))
		b.outside = filepath.Join(stateDir, hex.EncodeToString(sum[:8])+"-"+filepath.Base(abs)+".jsonl")
	}
	return b
}

// Read gives the notes as they stand. Without a file there are none. What can be read is returned with an error, too.
func (b *Book) Read() (*List, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if seen := b.stamp(); b.list != nil && seen == b.seen {
		return b.list, nil
	}
	return b.read()
}

// stamp changes when a file does.
func (b *Book) stamp() string {
	text := ""
	for _, path := range b.paths() {
		if st, err := os.Stat(path); err == nil {
			text += fmt.Sprintf("%s %d %d;", path, st.Size(), st.ModTime().UnixNano())
		}
	}
	return text
}

func (b *Book) paths() []string {
	if b.outside == "" {
		return []string{b.inside}
	}
	return []string{b.inside, b.outside}
}

func (b *Book) read() (*List, error) {
	seen := b.stamp()
	l := &List{Notes: []Note{}, Paths: []string{}}
	last := map[string]line{}
	var errs []error
	for _, path := range b.paths() {
		text, err := regular.Read(path, fileMax)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("cannot read notes: %w", err))
			continue
		}
		l.Paths = append(l.Paths, path)
		merge(last, l.replay(path, text))
	}
	l.take(last)
	err := errors.Join(errs...)
	if err == nil {
		b.list, b.seen = l, seen
	}
	return l, err
}

// Add writes a new note; its id and time are set here. where is the file that keeps it.
func (b *Book) Add(n Note) (written Note, where string, err error) {
	var id [8]byte
	rand.Read(id[:]) // never fails: crypto/rand ends the program instead
	n.ID = hex.EncodeToString(id[:])
	where, err = b.Put(n)
	return n, where, err
}

// Put writes a note anew: another text, or one that was deleted.
func (b *Book) Put(n Note) (where string, err error) { return b.write(n, false) }

// Delete takes a note out of the list. Put brings it back.
func (b *Book) Delete(n Note) error {
	_, err := b.write(n, true)
	return err
}

func (b *Book) write(n Note, deleted bool) (where string, err error) {
	n.WallNS, n.Text = b.now().UnixNano(), Clean(n.Text)
	text, err := json.Marshal(line{lineVersion, n, deleted})
	if err != nil {
		return "", fmt.Errorf("cannot write note: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = nil
	where = b.inside
	err = appendLine(where, text)
	if b.outside != "" && (errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS)) {
		where = b.outside
		if err = os.MkdirAll(filepath.Dir(where), rundir.DirMode); err == nil {
			err = appendLine(where, text)
		}
	}
	if err != nil {
		return "", fmt.Errorf("cannot write note: %w", err)
	}
	return where, nil
}

// Inside reports whether a file of notes is the one in the run's folder.
func (b *Book) Inside(path string) bool { return path == b.inside }

// Has reports whether a list holds a note.
func (l *List) Has(id string) bool {
	return slices.ContainsFunc(l.Notes, func(n Note) bool { return n.ID == id })
}

// appendLine writes one line in one piece and waits until it is on disk. Behind a line that a crash cut off it begins a new one.
func appendLine(path string, text []byte) (err error) {
	f, err := regular.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|unix.O_CLOEXEC, rundir.FileMode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := lock(f); err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		return err
	}
	size := st.Size()
	if size+int64(len(text)) > fileMax {
		return fmt.Errorf("%s: %w: notes may take %d bytes", path, regular.ErrTooLarge, fileMax)
	}
	if size > 0 {
		var last [1]byte
		if _, err := f.ReadAt(last[:], size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			text = append([]byte("\n"), text...)
		}
	}
	if _, err := f.Write(append(text, '\n')); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if size == 0 {
		_ = rundir.SyncFolder(filepath.Dir(path)) // a file system that cannot has it anyway, in time
	}
	return nil
}

const (
	lockTries = 40
	lockEvery = 50 * time.Millisecond
)

// lock waits a while for other writers. Where the file system has no locks, appending in one piece has to do.
func lock(f *os.File) error {
	for range lockTries {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil
		}
		time.Sleep(lockEvery)
	}
	return fmt.Errorf("%s: another program has held the file for %s", f.Name(), lockTries*lockEvery)
}
