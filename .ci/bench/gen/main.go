// Command gen writes a long Layer-1 stream: a recorded one repeated until it has the wanted size, with step indexes and clocks that go
// on from one repetition to the next, so that the result is one sound stream.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"

	"opprof/engine/record"
	"opprof/testdata"
)

func main() {
	name := flag.String("recording", "h200-tp1", "recorded stream of testdata/records to repeat")
	size := flag.Int64("mb", 300, "size to reach, in units of 1,000,000 bytes")
	out := flag.String("out", "", "file to write")
	flag.Parse()
	if err := run(*name, *size*1_000_000, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(name string, size int64, out string) error {
	text, err := testdata.Recording(name)
	if err != nil {
		return err
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	g := generator{out: bufio.NewWriterSize(f, 1<<20), size: size}
	for g.bytes < size {
		if err := g.repeat(text); err != nil {
			return err
		}
	}
	g.footer.Written, g.footer.Encoded = g.lines, g.lines
	if err := g.write(&record.Line{Kind: record.KindFooter, Footer: g.footer}); err != nil {
		return err
	}
	if err := g.out.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// generator shifts the lines of each repetition behind those of the one before.
type generator struct {
	out          *bufio.Writer
	size         int64
	bytes, lines int64
	step         int64 // last step index written
	shiftNS      int64 // added to all clocks of this repetition
	lastNS       int64 // newest completion written
	footer       record.Footer
	buf          []byte
}

// pauseNS stands between two repetitions.
const pauseNS = 10_000_000

func (g *generator) repeat(text []byte) error {
	r := record.NewReader(bytes.NewReader(text), "recording")
	first := true
	for r.Scan() && g.bytes < g.size {
		l := r.Line()
		switch l.Kind {
		case record.KindHeader:
			if g.lines > 0 {
				continue
			}
		case record.KindStep:
			s := &l.Step
			if first && g.lastNS > 0 {
				g.shiftNS = g.lastNS + pauseNS - s.SubmitMonoNS
			}
			first = false
			g.step++
			s.StepIndex = g.step
			s.SubmitWallNS += g.shiftNS
			s.SubmitMonoNS += g.shiftNS
			s.CompleteMonoNS += g.shiftNS
			g.lastNS = s.CompleteMonoNS
		case record.KindProfile:
			p := &l.Profile
			p.AfterStep = g.step
			p.WallNS += g.shiftNS
			p.MonoNS += g.shiftNS
			p.ReturnMonoNS += g.shiftNS
		case record.KindFooter:
			g.footer = l.Footer
			continue
		default:
			return fmt.Errorf("line %d of the recording is no record: %v", l.Number, l.Err)
		}
		if err := g.write(l); err != nil {
			return err
		}
	}
	return r.Err()
}

func (g *generator) write(l *record.Line) error {
	g.buf = append(record.Append(g.buf[:0], l), '\n')
	g.bytes += int64(len(g.buf))
	g.lines++
	_, err := g.out.Write(g.buf)
	return err
}
