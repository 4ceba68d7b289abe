package retention

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"opprof/engine/unit"
)

// Policy is what is kept. A value of 0 switches its rule off.
type Policy struct {
	KeepFor      time.Duration // a run is deleted when nothing was written to it for so long
	KeepBytes    int64         // the oldest runs are deleted until all of them take no more than this on the disk
	CompactAfter time.Duration // a run is compacted when nothing was written to it for so long
}

// Run is one run as Look has found it.
type Run struct {
	ID       string
	Path     string // below the root that was looked at
	Campaign string // name of its campaign's folder, "" for a run of its own
	Bytes    int64  // on the disk
	Touched  time.Time
	Used     string // why it may not be touched: its server runs, it is a link; "" when it may
	Kept     string // why it may not be deleted beyond that: notes, an unfinished campaign; "" when it may
	Plain    int64  // Layer-1 files that are not compressed

	notesDir string // where notes about it may lie beside those in its folder
}

// Action is what is done with a run.
type Action string

// Actions.
const (
	Keep    Action = "keep"
	Compact Action = "compact"
	Delete  Action = "delete"
)

// Verdict is what becomes of a run, and why, in words.
type Verdict struct {
	Run
	Action Action
	Why    string // "" for a run that no rule speaks of
}

// Plan judges runs, oldest first.
func Plan(p Policy, now time.Time, runs []Run) []Verdict {
	var list []Verdict
	var left int64
	for _, r := range runs {
		v := Verdict{Run: r, Action: Keep}
		age := now.Sub(r.Touched)
		switch {
		case p.KeepFor > 0 && age >= p.KeepFor:
			v.delete("nothing was written to it for " + days(age))
		case p.CompactAfter > 0 && age >= p.CompactAfter && r.Plain > 0:
			v.compact("nothing was written to it for " + days(age))
		}
		if v.Action != Delete {
			left += r.Bytes
		}
		list = append(list, v)
	}
	slices.SortStableFunc(list, func(a, b Verdict) int {
		return cmp.Or(a.Touched.Compare(b.Touched), cmp.Compare(a.Path, b.Path))
	})
	for i := range list {
		v := &list[i]
		if p.KeepBytes <= 0 || left <= p.KeepBytes {
			break
		}
		if v.Action == Delete {
			continue
		}
		if v.delete(fmt.Sprintf("the runs take more than %s, and it is the oldest that may go", unit.Bytes(p.KeepBytes))); v.Action == Delete {
			left -= v.Bytes
		}
	}
	return list
}

// delete says that a rule wants the run to go.
func (v *Verdict) delete(why string) {
	switch {
	case v.Used != "":
		v.Why = v.Used
	case v.Kept != "":
		v.Why = v.Kept
	default:
		v.Action, v.Why = Delete, why
	}
}

func (v *Verdict) compact(why string) {
	if v.Used != "" {
		v.Why = v.Used
		return
	}
	v.Action, v.Why = Compact, why
}

func days(d time.Duration) string {
	if d < 48*time.Hour {
		return d.Round(time.Hour).String()
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}
