package tail

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// faultyDisk is the real disk with errors and sizes of another kind.
type faultyDisk struct {
	osDisk
	open, read error
	readFrom   int64 // read fails from this byte on
	size       int64 // what Stat says; -1 the truth
	opened     int
	closed     int
}

func (d *faultyDisk) Open(path string) (file, error) {
	if d.open != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: d.open}
	}
	f, err := d.osDisk.Open(path)
	if err != nil {
		return nil, err
	}
	d.opened++
	return &faultyFile{f, d}, nil
}

func (d *faultyDisk) Stat(path string) (fs.FileInfo, error) {
	st, err := d.osDisk.Stat(path)
	if err != nil || d.size < 0 {
		return st, err
	}
	return staleSize{st, d.size}, nil
}

type faultyFile struct {
	file
	disk *faultyDisk
}

func (f *faultyFile) ReadAt(p []byte, at int64) (int, error) {
	if f.disk.read != nil && at+int64(len(p)) > f.disk.readFrom {
		n := max(0, f.disk.readFrom-at)
		got, err := f.file.ReadAt(p[:n], at)
		if err == nil || err == io.EOF && int64(got) == n {
			err = &fs.PathError{Op: "read", Path: "stream", Err: f.disk.read}
		}
		return got, err
	}
	return f.file.ReadAt(p, at)
}

func (f *faultyFile) Close() error { f.disk.closed++; return f.file.Close() }

type staleSize struct {
	fs.FileInfo
	size int64
}

func (s staleSize) Size() int64 { return s.size }

func (d *faultyDisk) Same(a, b fs.FileInfo) bool { return d.osDisk.Same(truth(a), truth(b)) }

func truth(st fs.FileInfo) fs.FileInfo {
	if s, ok := st.(staleSize); ok {
		return s.FileInfo
	}
	return st
}

func (f *folder) faulty() *faultyDisk {
	d := &faultyDisk{size: -1}
	f.tail.disk = d
	return d
}

func TestReadErrorsAreTriedAgain(t *testing.T) {
	for _, fault := range []error{syscall.EIO, syscall.ESTALE, fs.ErrPermission} {
		t.Run(fault.Error(), func(t *testing.T) {
			f := newFolder(t, Options{})
			d := f.faulty()
			f.write(name, steps(1, 4))
			d.open = fault
			f.gives("")
			if st := f.status(0); !errors.Is(st.Err, fault) || !strings.Contains(st.Err.Error(), name) {
				t.Errorf("status %+v", st)
			}
			d.open, d.read, d.readFrom = nil, fault, int64(len(steps(1, 2)))+100
			f.gives("1 2")
			p := f.poll()
			if st := f.status(0); !errors.Is(st.Err, fault) || p.Failed != 1 || f.log.words != nil {
				t.Errorf("status %+v, progress %+v, lines %v", st, p, f.log.words)
			}
			d.read = nil
			f.gives("3 4")
			if st := f.status(0); st.Err != nil || st.Restarts != 0 {
				t.Errorf("status %+v", st)
			}
			f.tail.Close()
			if d.opened != d.closed {
				t.Errorf("%d files opened, %d closed", d.opened, d.closed)
			}
		})
	}
}

func TestErrorInAPackedFile(t *testing.T) {
	f := newFolder(t, Options{})
	d := f.faulty()
	packed := gzipped(t, steps(1, 3000))
	f.write("a.jsonl.gz", packed)
	d.read, d.readFrom = syscall.EIO, int64(len(packed)/2)
	f.poll()
	got := f.log.take()
	if st := f.status(0); !errors.Is(st.Err, syscall.EIO) {
		t.Errorf("status %+v", st)
	}
	d.read = nil
	f.poll()
	if all := strings.TrimSpace(got + " " + f.log.take()); all != counted(1, 3000) {
		t.Errorf("together %.80q", all)
	}
}

func TestStaleSizesDoNotMatter(t *testing.T) {
	f := newFolder(t, Options{})
	d := f.faulty()
	f.write(name, steps(1, 3))
	d.size = 0
	f.gives("1 2 3")
	f.add(name, steps(4, 4))
	d.size = 100
	f.gives("4")
	d.size = 1 << 40
	f.gives("")
	if st := f.status(0); st.Restarts != 0 {
		t.Errorf("status %+v", st)
	}
}

func TestListingErrorsAreProgress(t *testing.T) {
	fault := errors.New("the folder is gone")
	f := newFolder(t, Options{})
	f.write(name, steps(1, 1))
	f.gives("1")
	f.tail.find = func() ([]string, error) { return nil, fault }
	f.add(name, steps(2, 2))
	if p := f.poll(); !errors.Is(p.Err, fault) || f.log.take() != "2" {
		t.Errorf("progress %+v", p)
	}
}
