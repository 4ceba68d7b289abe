package tail

import (
	"os"
	"testing"
	"time"
)

// A deleted file is read on for a while and then closed, so that its space on the disk is free; the name may come back.
func TestDeletedFilesAreLetGo(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	f := newFolder(t, Options{Now: func() time.Time { return now }})
	d := f.faulty()
	f.write(name, steps(1, 2))
	f.gives("1 2")
	w, err := os.OpenFile(f.path(name), os.O_WRONLY|os.O_APPEND, 0)
	f.must(err)
	defer w.Close()
	f.remove(name)
	open := func(want bool) {
		t.Helper()
		if got := d.opened > d.closed; got != want {
			t.Errorf("after %v: open is %v", now.Sub(time.Unix(1_700_000_000, 0)), got)
		}
	}
	f.gives("")
	now = now.Add(goneGrace - 1)
	_, err = w.WriteString(step(3))
	f.must(err)
	f.gives("3")
	open(true)
	now = now.Add(goneGrace - 1)
	f.gives("")
	open(true)
	now = now.Add(1)
	f.gives("")
	open(false)
	if st := f.status(0); !st.Gone || st.Err != nil || st.Lines != 3 {
		t.Errorf("status %+v", st)
	}
	f.write(name, steps(1, 4)) // a copy that was made before
	f.gives("4")
	if st := f.status(0); st.Gone || st.Restarts != 0 {
		t.Errorf("status %+v", st)
	}
	f.must(os.RemoveAll(f.dir))
	f.gives("")
	now = now.Add(goneGrace)
	f.gives("")
	open(false)
	f.must(os.Mkdir(f.dir, 0o700))
	f.write(name, steps(7, 7))
	f.gives("restart 7")
	open(true)
}
