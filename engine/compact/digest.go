package compact

import (
	"context"
	"crypto/sha256"
	"hash"
	"io"

	"opprof/engine/record"
)

// digest is what was read of a stream: its bytes, and what the invariants say of its lines.
type digest struct {
	sum   [sha256.Size]byte
	bytes int64
	check record.Check
}

// tally is a hash that counts.
type tally struct {
	hash.Hash
	bytes int64
}

func (t *tally) Write(p []byte) (int, error) {
	t.bytes += int64(len(p))
	return t.Hash.Write(p)
}

// checkEvery is after how many lines the end of the context is looked for.
const checkEvery = 1024

// read reads a stream to its end.
func read(ctx context.Context, in io.Reader, path string) (d digest, err error) {
	sum := &tally{Hash: sha256.New()}
	lines, checker := record.NewReader(io.TeeReader(in, sum), path), record.NewChecker()
	for n := 0; lines.Scan(); n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return d, ctx.Err()
		}
		checker.Add(lines.Line())
	}
	d.bytes, d.check = sum.bytes, checker.Result()
	sum.Sum(d.sum[:0])
	return d, lines.Err()
}
