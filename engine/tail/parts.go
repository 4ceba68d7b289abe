package tail

import (
	"errors"
	"fmt"
	"io/fs"
)

// open opens the part to read: the one that was being read, else the oldest that was not read yet.
func (s *stream) open(sink Sink) bool {
	if s.mark.end > 0 {
		return s.reopen(sink)
	}
	var first error
	for _, path := range s.listed {
		f, st, c, err := s.try(path)
		if err != nil {
			if first == nil {
				s.path, first = path, err
			}
			continue
		}
		if done, err := s.isDone(st, c); done || err != nil {
			if err != nil && first == nil {
				s.path, first = path, err
			}
			f.Close()
			continue
		}
		s.path, s.gone = path, false
		s.file, s.st, s.content = f, st, c
		return true
	}
	s.gone = len(s.listed) == 0 || errors.Is(first, fs.ErrNotExist)
	if first != nil && !s.gone {
		s.note(first)
	}
	return false
}

// reopen finds the part that was being read by what it holds, under its own name or another. If no file holds it, the stream starts again.
func (s *stream) reopen(sink Sink) bool {
	found := false
	for _, path := range append([]string{s.path}, s.listed...) {
		f, st, c, err := s.try(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			s.note(err)
			return false
		}
		found = true
		if c != nil {
			v, err := s.mark.compare(c)
			if err != nil {
				f.Close()
				s.note(err)
				return false
			}
			if v == same {
				s.path, s.gone = path, false
				s.swap(f, st, c)
				return true
			}
		}
		f.Close()
	}
	if s.gone = !found; found {
		s.restart(sink, fmt.Sprintf("%s no longer holds what was read of it: reading it again from its first byte", s.path))
		return s.open(sink)
	}
	return false
}

// isDone recognises a part by how it begins, since a rotated part may be compressed into another file and an inode may be used again.
func (s *stream) isDone(st fs.FileInfo, c content) (bool, error) {
	for _, d := range s.done {
		if len(d.mark.head) == 0 {
			if st.Size() == d.st.Size() && s.t.disk.Same(st, d.st) {
				return true, nil
			}
			continue
		}
		if c == nil {
			continue
		}
		if ok, err := d.mark.begins(c); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// hasNext reports whether a part behind the open one has something to read.
func (s *stream) hasNext() bool {
	own := -1
	for i, path := range s.listed {
		if path == s.path && len(s.listed) == 1 {
			if st, err := s.t.disk.Stat(path); err != nil || s.t.disk.Same(st, s.st) {
				return false
			}
		}
		if st, err := s.t.disk.Stat(path); err == nil && s.t.disk.Same(st, s.st) {
			own = i
		}
	}
	for _, path := range s.listed[own+1:] {
		f, st, c, err := s.try(path)
		if err != nil {
			continue
		}
		done, err := s.isDone(st, c)
		if c != nil && err == nil && !done {
			done, err = s.twin(path, c)
		}
		f.Close()
		if !done && err == nil && st.Size() > 0 {
			return true
		}
	}
	return false
}

// twin reports whether content is a compressed copy of the open part.
func (s *stream) twin(path string, c content) (bool, error) {
	if path == s.path || len(s.mark.head) == 0 {
		return false, nil
	}
	return s.mark.begins(c)
}
