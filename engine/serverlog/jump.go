package serverlog

import "opprof/engine/vllm"

// jump is the number of the next line of a kind from a shown line on; 0 when there is none.
func (r *reader) jump(j Jump, at int64) (int64, error) {
	here, err := r.lines(at, at+1)
	if err != nil || len(here) == 0 {
		return 0, err
	}
	least := func(level vllm.Level) func([]byte, *Line) bool {
		return func(_ []byte, l *Line) bool { return l.Head == 0 && l.Severity >= level }
	}
	number := here[0].Number
	switch j {
	case JumpNextProblem:
		return r.after(&r.state.problems, number, least(vllm.LevelWarning))
	case JumpPrevProblem:
		return r.before(&r.state.problems, number, least(vllm.LevelWarning))
	case JumpNextError:
		return r.after(&r.state.errors, number, least(vllm.LevelError))
	case JumpPrevError:
		return r.before(&r.state.errors, number, least(vllm.LevelError))
	}
	passes := func(raw []byte, l *Line) bool { return r.mark == nil || r.mark.matches(raw, l) }
	if j == JumpNextMatch {
		return r.after(&r.passing, number, passes)
	}
	return r.before(&r.passing, number, passes)
}

// after is the first line of a sparse list behind a line.
func (r *reader) after(s *sparse, number int64, is func([]byte, *Line) bool) (next int64, err error) {
	i := s.byLine(number)
	switch {
	case i < 0 && len(s.marks) > 0:
		return s.marks[0].number, nil
	case i < 0:
		return 0, nil
	case s.stride == 1 && i+1 < len(s.marks):
		return s.marks[i+1].number, nil
	case s.stride == 1:
		return 0, nil
	}
	err = r.walk(&s.marks[i], chunkBytes, func(raw []byte, l *Line) bool {
		if l.Number > number && is(raw, l) {
			next = l.Number
		}
		return next == 0
	})
	return next, err
}

// before is the last line of a sparse list before a line.
func (r *reader) before(s *sparse, number int64, is func([]byte, *Line) bool) (prev int64, err error) {
	i := s.byLine(number - 1)
	if i < 0 {
		return 0, nil
	}
	prev = s.marks[i].number
	if s.stride == 1 {
		return prev, nil
	}
	err = r.walk(&s.marks[i], chunkBytes, func(raw []byte, l *Line) bool {
		if l.Number < number && is(raw, l) {
			prev = l.Number
		}
		return l.Number < number
	})
	return prev, err
}
