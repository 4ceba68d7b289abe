package experts

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"opprof/engine/regular"
)

// MaxArrayBytes bounds the data of one array: a million tokens of 96 layers and 8 experts as bytes.
const MaxArrayBytes = 1 << 30

// Find lists the files of a path that may hold routed experts: the file itself, or those below a folder that end in .npy, .json or .jsonl;
// below a run, those of its experts folder.
func Find(path string) ([]string, error) {
	s, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read routed experts: %w", err)
	}
	if !s.IsDir() {
		return []string{path}, nil
	}
	if inside, err := os.Stat(filepath.Join(path, "experts")); err == nil && inside.IsDir() {
		path = filepath.Join(path, "experts")
	} else if inside, err := os.Stat(filepath.Join(path, "layer1")); err == nil && inside.IsDir() {
		return nil, fmt.Errorf("cannot find routed experts: the run %s has no experts folder, which is for responses of a server started with --enable-return-routed-experts", path)
	}
	var out []string
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && slices.Contains([]string{".npy", ".json", ".jsonl"}, filepath.Ext(p)) {
			out = append(out, p)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read routed experts: %w", err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("cannot find routed experts (*.npy, *.json, *.jsonl) in %s", path)
	}
	return out, nil
}

// ReadFiles counts every file in turn. What a file does not give is told in its report and keeps none of the others from being counted; an
// error means that ctx ended.
func ReadFiles(ctx context.Context, paths []string, l *Load) ([]FileReport, error) {
	reports := make([]FileReport, 0, len(paths))
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r := FileReport{Path: path, Problems: []string{}}
		if err := r.read(l); err != nil {
			r.problem(err)
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// maxProblems bounds the list of a file: a file of many responses may have the same fault in each.
const maxProblems = 10

func (r *FileReport) problem(err error) {
	if len(r.Problems) == maxProblems {
		r.Problems = append(r.Problems, "and more")
	}
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, err.Error())
	}
}

// read tells the two formats apart by their first bytes, not by the name.
func (r *FileReport) read(l *Load) error {
	f, err := regular.Open(r.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	start, err := in.Peek(len(magic))
	if err != nil && len(strings.TrimSpace(string(start))) == 0 {
		return errors.New("the file is empty")
	}
	if strings.HasPrefix(string(start), "PK") {
		return errors.New("an archive, as numpy.savez writes it: save the array alone with numpy.save")
	}
	if string(start) == magic {
		a, err := ReadNPY(in, MaxArrayBytes)
		if err != nil {
			return err
		}
		return r.add(l, a)
	}
	return ReadResponses(in, MaxArrayBytes, func(a *Array, err error) {
		if err == nil {
			err = r.add(l, a)
		}
		if err != nil {
			r.problem(err)
		}
	})
}

func (r *FileReport) add(l *Load, a *Array) error {
	if err := l.Add(a); err != nil {
		return err
	}
	r.Arrays++
	r.Tokens += int64(a.Tokens)
	return nil
}
