package tail

import (
	"os"
	"strings"
	"testing"
)

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(f *folder)
	}{
		{"grows", func(f *folder) {
			f.write(name, steps(1, 2))
			f.gives("1 2")
			f.gives("")
			f.add(name, steps(3, 5))
			f.gives("3 4 5")
		}},
		{"appears late, then another engine", func(f *folder) {
			f.gives("")
			f.write(name, "")
			f.gives("")
			f.add(name, steps(1, 1))
			f.write("opprof-v1-dp1-pid2-1.jsonl", steps(7, 8))
			f.gives("1 1:7 1:8")
			f.write("opprof-v0-dp9-pid2-1.jsonl", steps(9, 9)) // sorts first, still gets the next number
			f.add(name, steps(2, 2))
			f.gives("2 2:9")
		}},
		{"torn line is held until it is whole", func(f *folder) {
			whole := step(1)
			f.write(name, whole[:100])
			f.gives("")
			if st := f.status(0); !st.Torn || st.Offset != 0 {
				f.t.Errorf("status %+v", st)
			}
			f.add(name, whole[100:len(whole)-1])
			f.gives("")
			f.add(name, "\n"+step(2)[:5])
			f.gives("1")
			f.add(name, step(2)[5:])
			f.gives("2")
			if st := f.status(0); st.Torn || st.Lines != 2 || st.Bad != 0 {
				f.t.Errorf("status %+v", st)
			}
		}},
		{"torn in the middle of a character", func(f *folder) {
			line := `{"type":"note","text":"é"}` + "\n"
			at := strings.Index(line, "é") + 1
			f.write(name, line[:at])
			f.gives("")
			f.add(name, line[at:])
			f.gives("unknown")
		}},
		{"torn at the end of the run", func(f *folder) {
			f.write(name, steps(1, 1)+step(2)[:200])
			f.gives("1")
			f.flushes("torn")
			f.flushes("")
		}},
		{"last line without newline is whole", func(f *folder) {
			f.write(name, steps(1, 1)+strings.TrimSuffix(step(2), "\n"))
			f.gives("1")
			f.flushes("2")
		}},
		{"torn rest is replaced by the writer that restarts", func(f *folder) {
			f.write(name, steps(1, 1)+step(2)[:200])
			f.gives("1")
			f.must(os.Truncate(f.path(name), int64(len(step(1)))))
			f.add(name, steps(2, 3))
			f.gives("2 3")
		}},
		{"truncated to nothing", func(f *folder) {
			f.write(name, steps(1, 3))
			f.gives("1 2 3")
			f.must(os.Truncate(f.path(name), 0))
			f.gives("restart")
			f.add(name, steps(4, 5))
			f.gives("4 5")
			if st := f.status(0); st.Restarts != 1 || st.Lines != 5 {
				f.t.Errorf("status %+v", st)
			}
		}},
		{"truncated in the middle", func(f *folder) {
			f.write(name, steps(1, 3))
			f.gives("1 2 3")
			f.must(os.Truncate(f.path(name), int64(len(steps(1, 2))-10)))
			f.gives("restart") // the line that is left was read
			if st := f.status(0); !st.Torn || st.Offset != int64(len(step(1))) {
				f.t.Errorf("status %+v", st)
			}
			f.must(os.Truncate(f.path(name), int64(len(step(1)))))
			f.add(name, steps(7, 8))
			f.gives("7 8")
		}},
		{"truncated and grown past the old end between two passes", func(f *folder) {
			f.write(name, steps(1, 3))
			f.gives("1 2 3")
			f.write(name, steps(11, 20)) // O_TRUNC keeps the inode
			f.gives("restart " + counted(11, 20))
		}},
		{"same size, other content, same inode", func(f *folder) {
			f.write(name, steps(11, 13))
			f.gives("11 12 13")
			f.overwrite(name, 0, steps(21, 23))
			f.gives("restart 21 22 23")
		}},
		{"same size, other content, other inode", func(f *folder) {
			f.write(name, steps(11, 13))
			f.gives("11 12 13")
			f.write("new.tmp", steps(21, 23))
			f.rename("new.tmp", name)
			f.gives("restart 21 22 23")
		}},
		{"a longer copy renamed into place goes on", func(f *folder) {
			f.write(name, steps(1, 9)+step(10)[:80])
			f.gives(counted(1, 9))
			f.write("copy.tmp", steps(1, 12))
			f.rename("copy.tmp", name)
			f.gives("10 11 12")
		}},
		{"a shorter copy renamed into place goes on at its end", func(f *folder) {
			f.write(name, steps(1, 9))
			f.gives(counted(1, 9))
			f.write("copy.tmp", steps(1, 4))
			f.rename("copy.tmp", name)
			f.gives("restart")
			f.add(name, steps(5, 5))
			f.gives("5")
		}},
		{"overwritten in the middle is read again", func(f *folder) {
			f.write(name, steps(11, 19))
			f.gives(counted(11, 19))
			f.overwrite(name, int64(len(steps(11, 16))), steps(27, 29))
			f.gives("restart " + counted(11, 16) + " 27 28 29")
		}},
		{"another file of three bytes, then more of it", func(f *folder) {
			f.write(name, steps(1, 2))
			f.gives("1 2")
			f.write("new.tmp", "{}\n")
			f.rename("new.tmp", name)
			f.gives("restart bad")
			f.add(name, steps(3, 3))
			f.gives("3")
		}},
		{"an odd byte is all there is", func(f *folder) {
			f.write(name, "(")
			f.gives("")
			f.flushes("bad")
		}},
		{"rotated: the old inode is read to its end first", func(f *folder) {
			f.write(name, steps(1, 2))
			f.gives("1 2")
			f.add(name, steps(3, 4))
			f.rename(name, name+".1")
			f.write(name, steps(5, 6))
			f.gives("3 4 5 6")
			f.add(name, steps(7, 7))
			f.gives("7")
			if st := f.status(0); st.Parts != 1 || st.Restarts != 0 || st.Path != f.path(name) {
				f.t.Errorf("status %+v", st)
			}
		}},
		{"rotated, the writer goes on in the old inode for a while", func(f *folder) {
			f.write(name, steps(1, 1))
			f.gives("1")
			f.rename(name, name+".1")
			f.gives("")
			f.add(name+".1", steps(2, 2))
			f.gives("2")
			f.write(name, "")
			f.add(name+".1", steps(3, 3))
			f.gives("3")
			f.add(name, steps(4, 4))
			f.gives("4")
		}},
		{"rotated to a name that is not listed", func(f *folder) {
			f.write(name, steps(1, 1))
			f.gives("1")
			f.add(name, steps(2, 2)+step(3)[:50])
			f.rename(name, "old")
			f.write(name, steps(4, 4))
			f.gives("2 torn 4")
		}},
		{"rotated twice between two passes", func(f *folder) {
			f.write(name, steps(1, 1))
			f.gives("1")
			f.add(name, steps(2, 2))
			f.rename(name, name+".2")
			f.write(name+".1", steps(3, 3))
			f.write(name, steps(4, 4))
			f.gives("2 3 4")
		}},
		{"rotated parts from before the start, one of them packed", func(f *folder) {
			f.write(name+".2.gz", gzipped(f.t, steps(1, 2)))
			f.write(name+".1", steps(3, 4))
			f.write(name, steps(5, 5))
			f.gives("1 2 3 4 5")
			f.write(name+".1.gz", gzipped(f.t, steps(3, 4)))
			f.remove(name + ".1")
			f.gives("")
			f.rename(name+".2.gz", name+".3.gz")
			f.rename(name+".1.gz", name+".2.gz")
			f.rename(name, name+".1")
			f.write(name, steps(6, 6))
			f.gives("6")
		}},
		{"an empty rotated part", func(f *folder) {
			f.write(name+".1", "")
			f.write(name, steps(1, 1))
			f.gives("1")
			f.gives("")
		}},
		{"rotated by copy and truncation", func(f *folder) {
			f.write(name, steps(1, 2))
			f.gives("1 2")
			f.write(name+".1", steps(1, 2))
			f.must(os.Truncate(f.path(name), 0))
			f.add(name, steps(3, 3))
			f.gives("restart 3")
			f.add(name, steps(4, 4))
			f.gives("4")
		}},
		{"deleted while open", func(f *folder) {
			f.write(name, steps(1, 1))
			f.gives("1")
			w, err := os.OpenFile(f.path(name), os.O_WRONLY|os.O_APPEND, 0)
			f.must(err)
			f.remove(name)
			_, err = w.WriteString(steps(2, 2))
			f.must(err)
			f.must(w.Close())
			f.gives("2")
			if st := f.status(0); !st.Gone || st.Err != nil {
				f.t.Errorf("status %+v", st)
			}
			f.write(name, steps(3, 3))
			f.gives("restart 3")
		}},
		{"packed in place after it was read", func(f *folder) {
			f.write(name, steps(1, 2))
			f.gives("1 2")
			f.write(name+".gz", gzipped(f.t, steps(1, 2)))
			f.remove(name)
			f.gives("")
			f.gives("")
		}},
		{"bad lines between good ones", func(f *folder) {
			f.write(name, step(1)+"{\"step_index\":}\n"+"nonsense\n"+step(2)+strings.Repeat("[", 5000)+"\n"+step(3))
			f.gives("1 bad bad 2 bad 3")
			st := f.status(0)
			if st.Bad != 3 || st.Lines != 6 || !strings.Contains(st.FirstBad, name+":2: ") {
				f.t.Errorf("status %+v", st)
			}
		}},
		{"CRLF and blank lines", func(f *folder) {
			f.write(name, "\n"+strings.ReplaceAll(steps(1, 2), "\n", "\r\n")+" \r\n\n"+step(3))
			f.gives("1 2 3")
		}},
		{"zeros are torn, then one bad line", func(f *folder) {
			f.write(name, step(1)+strings.Repeat("\x00", 4096))
			f.gives("1")
			f.add(name, "\n"+step(2))
			f.gives("bad 2")
		}},
		{"a cut gzip is read as far as it goes, then on", func(f *folder) {
			packed := gzipped(f.t, steps(1, 400))
			f.write("a.jsonl.gz", packed[:len(packed)/2])
			f.poll()
			got := f.log.take()
			if n := len(strings.Fields(got)); n < 100 || !strings.HasPrefix(got, "1 2 3 ") || strings.Contains(got, "bad") {
				f.t.Errorf("half a gzip gave %d lines: %.40q", n, got)
			}
			if st := f.status(0); !st.Torn || st.Err != nil {
				f.t.Errorf("status %+v", st)
			}
			f.write("a.jsonl.gz", packed)
			f.poll()
			if all := strings.TrimSpace(got + " " + f.log.take()); all != counted(1, 400) {
				f.t.Errorf("together %.80q", all)
			}
			if st := f.status(0); st.Torn {
				f.t.Errorf("status %+v", st)
			}
		}},
		{"a gzip that grows by little is read on when it rests", func(f *folder) {
			packed := gzipped(f.t, steps(1, 400))
			f.write("a.jsonl.gz", packed[:len(packed)-8])
			f.gives(counted(1, 400))
			f.add("a.jsonl.gz", packed[len(packed)-8:len(packed)-4])
			f.gives("")
			f.add("a.jsonl.gz", packed[len(packed)-4:])
			f.gives("")
			if st := f.status(0); !st.Torn {
				f.t.Errorf("status %+v", st)
			}
			f.gives("")
			f.gives("")
			if st := f.status(0); st.Torn || st.Lines != 400 {
				f.t.Errorf("status %+v", st)
			}
		}},
		{"a cut zstd, replaced by the whole one", func(f *folder) {
			packed := zstded(f.t, steps(1, 2000))
			f.write("a.jsonl.zst", packed[:len(packed)/2])
			f.poll()
			got := f.log.take()
			f.write("tmp", packed)
			f.rename("tmp", "a.jsonl.zst")
			f.poll()
			if all := strings.TrimSpace(got + " " + f.log.take()); all != counted(1, 2000) {
				f.t.Errorf("together %.80q", all)
			}
		}},
		{"damaged gzip keeps what stands before", func(f *folder) {
			packed := []byte(gzipped(f.t, steps(1, 2000)))
			copy(packed[len(packed)/2:], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
			f.write("a.jsonl.gz", string(packed))
			f.poll()
			if got := f.log.take(); !strings.HasPrefix(got, "1 2 3 ") {
				f.t.Errorf("got %.80q", got)
			}
			if st := f.status(0); st.Err == nil || !strings.Contains(st.Err.Error(), "damaged") {
				f.t.Errorf("status %+v", st)
			}
			f.gives("")
		}},
		{"several members and a packed file under a plain name", func(f *folder) {
			f.write("a.jsonl", gzipped(f.t, steps(1, 3))+gzipped(f.t, steps(4, 5)))
			f.gives("1 2 3 4 5")
		}},
		{"a file is compressed while it is open", func(f *folder) {
			f.write(name, steps(1, 400))
			f.gives(counted(1, 400))
			f.write("tmp", inFrames(f.t, steps(1, 400)))
			f.rename("tmp", name+".zst")
			f.remove(name)
			f.gives("")
			f.tail.Close() // as after the grace of a deleted file
			f.gives("")
			if st := f.status(0); st.Restarts != 0 || st.Path != f.path(name+".zst") || st.Lines != 400 {
				f.t.Errorf("status %+v", st)
			}
		}},
		{"a damaged frame keeps what stands before", func(f *folder) {
			packed := []byte(inFrames(f.t, steps(1, 6000)))
			copy(packed[len(packed)*3/4:], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
			f.write("a.jsonl.zst", string(packed))
			f.poll()
			if got := f.log.take(); !strings.HasPrefix(got, "1 2 3 ") {
				f.t.Errorf("got %.80q", got)
			}
			if st := f.status(0); st.Err == nil || !strings.Contains(st.Err.Error(), "damaged") {
				f.t.Errorf("status %+v", st)
			}
			f.gives("")
		}},
		{"a folder under a stream's name", func(f *folder) {
			f.must(os.Mkdir(f.path("a.jsonl"), 0o700))
			f.write("b.jsonl", steps(1, 1))
			f.gives("1")
		}},
	} {
		t.Run(c.name, func(t *testing.T) { c.do(newFolder(t, Options{})) })
	}
}
