package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"opprof/engine/rundir"
	"opprof/testdata"
	"opprof/traces/experts"
)

// demoExpertsRemark says where the demo's routed experts come from: the recorded server had dummy weights, with which all routers are alike.
const demoExpertsRemark = "a recording of a server with dummy weights, whose layers route alike: the demo gives each layer other recorded tokens, and its experts other numbers"

// putExperts writes the routed experts, as a campaign leaves them that collects them from a server of its own.
func (d *demo) putExperts() error {
	arrays, err := recordedExperts()
	if err != nil {
		return err
	}
	dir := filepath.Join(d.run, rundir.ExpertsName)
	if err := os.MkdirAll(dir, rundir.DirMode); err != nil {
		return err
	}
	n := expertsOf(arrays)
	for i, a := range arrays {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("recorded%d.npy", i)), spread(a, n), rundir.FileMode); err != nil {
			return err
		}
	}
	return nil
}

// recordedExperts are the arrays of the recorded responses.
func recordedExperts() ([]*experts.Array, error) {
	files, err := testdata.Experts()
	if err != nil {
		return nil, err
	}
	var arrays []*experts.Array
	for _, name := range slices.Sorted(maps.Keys(files)) {
		var refused error
		err := experts.ReadResponses(bytes.NewReader(files[name]), experts.MaxArrayBytes, func(a *experts.Array, err error) {
			arrays, refused = append(arrays, a), cmp.Or(refused, err)
		})
		if err := cmp.Or(err, refused); err != nil {
			return nil, fmt.Errorf("cannot read recorded experts %s: %w", name, err)
		}
	}
	return arrays, nil
}

// expertsOf is one more than the largest id.
func expertsOf(arrays []*experts.Array) int64 {
	n := int64(1)
	for _, a := range arrays {
		for t := range a.Tokens {
			for l := range a.Layers {
				for k := range a.TopK {
					n = max(n, a.ID(t, l, k)+1)
				}
			}
		}
	}
	return n
}

// spread is a NumPy file of a recorded array in which the layers differ: each takes what the recording's layer chose for some of the tokens,
// some layers for fewer of them and thus less evenly, and numbers its n experts in an order of its own.
func spread(a *experts.Array, n int64) []byte {
	out := npyHeader(a.Tokens, a.Layers, a.TopK)
	for t := range a.Tokens {
		for l := range a.Layers {
			pool := max(1, a.Tokens-a.Tokens*2*((l*7)%a.Layers)/(3*a.Layers))
			from := (l*31 + t%pool) % a.Tokens
			for k := range a.TopK {
				out = binary.LittleEndian.AppendUint16(out, uint16(renumber(a.ID(from, l, k), int64(l), n)))
			}
		}
	}
	return out
}

// renumber is a permutation of 0 to n-1, another one for each layer.
func renumber(id, layer, n int64) int64 {
	step := 2*layer + 1
	for gcd(step, n) != 1 {
		step += 2
	}
	return (id*step + 17*layer) % n
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// npyHeader begins a NumPy file of 16-bit numbers (numpy/lib/format.py, version 1.0): its length is a multiple of 64.
func npyHeader(shape ...int) []byte {
	sizes := make([]string, len(shape))
	for i, n := range shape {
		sizes[i] = fmt.Sprint(n)
	}
	const fixed, align = 10, 64
	text := "{'descr': '<u2', 'fortran_order': False, 'shape': (" + strings.Join(sizes, ", ") + "), }"
	text += strings.Repeat(" ", align-(fixed+len(text)+1)%align) + "\n"
	out := append([]byte("\x93NUMPY"), 1, 0)
	return append(binary.LittleEndian.AppendUint16(out, uint16(len(text))), text...)
}

// Experts are the routed experts as they are known now.
func (s *Session) Experts(ctx context.Context) (*experts.List, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	l := s.experts.List()
	if s.options.Kind == KindDemo && l.Of > 0 {
		of := *l
		of.Remark = demoExpertsRemark
		l = &of
	}
	return l, nil
}
