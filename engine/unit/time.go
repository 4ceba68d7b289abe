package unit

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Duration prints ns nanoseconds in at most seven columns for any time below 100 days: 830 ns, 11.8 ms, 1.24 s, then cut to whole minutes or
// hours as in 2m03s, 5h07m, 3d04h.
func Duration(ns int64) string {
	if ns < 0 {
		return "-" + Duration(-max(ns, -math.MaxInt64))
	}
	if ns < 1000 {
		return strconv.FormatInt(ns, 10) + " ns"
	}
	const second = int64(time.Second)
	if ns < 60*second {
		if s, ok := subMinute(float64(ns)); ok {
			return s
		}
	}
	s := ns / second
	if ns%second >= second/2 {
		s++
	}
	switch {
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	default:
		return fmt.Sprintf("%dd%02dh", s/86400, s/3600%24)
	}
}

// subMinute prints with us, ms or s; not ok for what rounds to a minute.
func subMinute(ns float64) (string, bool) {
	for _, u := range [...]struct {
		ns   float64
		name string
	}{{1e3, " us"}, {1e6, " ms"}, {1e9, " s"}} {
		if s := significant(ns / u.ns); wholeDigits(s) <= 3 && s != "60.0" || u.ns < 1e9 && s == "60.0" {
			return s + u.name, true
		}
	}
	return "", false
}

// DurationMS prints ns as a bare number of milliseconds, for columns and panels whose title says ms: 0.012, 11.8, 120, 1,240.
func DurationMS(ns int64) string {
	s := significant(float64(ns) / 1e6)
	if wholeDigits(s) <= 3 {
		return s
	}
	return Count(int64(math.Round(float64(ns) / 1e6)))
}

// Clock prints a time in ns since 1970 as hours to milliseconds in loc (nil is UTC). 0 is unknown.
func Clock(ns int64, loc *time.Location) string { return clock(ns, loc, "15:04:05.000") }

// ClockSeconds is Clock without the milliseconds.
func ClockSeconds(ns int64, loc *time.Location) string { return clock(ns, loc, time.TimeOnly) }

// Date prints day and time to the second.
func Date(ns int64, loc *time.Location) string { return clock(ns, loc, time.DateTime) }

func clock(ns int64, loc *time.Location, layout string) string {
	if ns == 0 {
		return Unknown
	}
	if loc == nil {
		loc = time.UTC
	}
	return time.Unix(0, ns).In(loc).Format(layout)
}
