package tui

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// target is where a reader wants to go: to a step, or to a moment.
type target struct {
	step int64 // step index; 0 is none
	atNS int64 // ns since 1970, when step is 0
}

var errTarget = errors.New("write a step index (1,234), a time (12:03:47) or a distance (+30, -1m30s)")

// parseTarget reads what a reader typed: a step index, a time of day or a date and time in zone, a signed distance from the cursor in
// seconds or as a duration, or a share of the run in percent. A time of day is the one nearest to the run.
func parseTarget(s string, v view, cursorNS int64, zone *time.Location) (target, error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return target{}, errTarget
	case strings.HasSuffix(s, "%"):
		share, err := strconv.ParseFloat(strings.TrimSpace(s[:len(s)-1]), 64)
		if err != nil || !(share >= 0 && share <= 100) {
			return target{}, errors.New("a share of the run is between 0 % and 100 %")
		}
		return target{atNS: v.firstNS + int64(share/100*float64(v.lastNS-v.firstNS))}, nil
	case s[0] == '+' || s[0] == '-':
		return parseDistance(s, cursorNS)
	case strings.ContainsRune(s, ':'):
		return parseClock(s, v, zone)
	}
	step, err := strconv.ParseInt(strings.ReplaceAll(s, ",", ""), 10, 64)
	if err != nil || step <= 0 {
		return target{}, errTarget
	}
	return target{step: step}, nil
}

func parseDistance(s string, cursorNS int64) (target, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		d, err = time.ParseDuration(s + "s")
	}
	if err != nil {
		return target{}, errTarget
	}
	return target{atNS: cursorNS + int64(d)}, nil
}

func parseClock(s string, v view, zone *time.Location) (target, error) {
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return target{atNS: t.UnixNano()}, nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		t, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		day := time.Unix(0, v.firstNS).In(zone)
		at := time.Date(day.Year(), day.Month(), day.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone)
		return target{atNS: nearestDay(at, v)}, nil
	}
	return target{}, errTarget
}

// nearestDay moves a time of the run's first day by whole days until it lies in the run, or else stays nearest to it.
func nearestDay(at time.Time, v view) int64 {
	best, least := at.UnixNano(), int64(-1)
	for days := -1; days <= int((v.lastNS-v.firstNS)/int64(24*time.Hour))+1; days++ {
		ns := at.AddDate(0, 0, days).UnixNano()
		away := max(v.firstNS-ns, ns-v.lastNS, 0)
		if least < 0 || away < least {
			best, least = ns, away
		}
	}
	return best
}
