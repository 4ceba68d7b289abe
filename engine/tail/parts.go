package tail

import (
	"errors"
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

// reopen finds the part that was being read by what it holds, under its own name or another. If no file holds it, what has its name is
// read in its stead.
func (s *stream) reopen(sink Sink) bool {
	s.gone = true
	for _, path := range append([]string{s.path}, s.listed...) {
		f, st, c, err := s.try(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		s.gone = false
		v := rewritten
		if err == nil && c != nil {
			if v, err = s.mark.compare(c); err != nil {
				f.Close()
			}
		}
		if err != nil {
			s.note(err)
			return false
		}
		if v == same {
			s.path = path
			s.swap(f, st, c)
			return true
		}
		f.Close()
	}
	if s.gone {
		return false
	}
	return s.instead(sink)
}

// instead takes the file that now has the part's name, or the oldest one that was not read yet.
func (s *stream) instead(sink Sink) bool {
	f, st, c, err := s.try(s.path)
	if err == nil && c != nil {
		v, err := s.mark.compare(c)
		if err != nil {
			f.Close()
			s.note(err)
			return false
		}
		s.swap(f, st, c)
		s.lost(sink, v, st.Size())
		return s.file != nil || s.mark.end == 0 && s.open(sink)
	}
	if err == nil {
		f.Close()
	}
	s.lost(sink, rewritten, 0)
	return s.open(sink)
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
