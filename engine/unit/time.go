package unit

import (
	"fmt"
	"strconv"
	"time"
)

// Duration prints ns nanoseconds with a fitting unit: 830 ns, 11.8 ms, 1.24 s, 2m03s, 5h07m, 3d04h.
func Duration(ns int64) string {
	if ns < 0 {
		if ns == -1<<63 {
			ns++
		}
		return "-" + Duration(-ns)
	}
	if ns < 1000 {
		return strconv.FormatInt(ns, 10) + " ns"
	}
	for i, u := range [...]string{"us", "ms", "s"} {
		v := float64(ns) / []float64{1e3, 1e6, 1e9}[i]
		if s := significant(v); !tooLong(s) && (u != "s" || v < 59.95) {
			return s + " " + u
		}
	}
	s := (ns + 5e8) / 1e9
	switch {
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	default:
		return fmt.Sprintf("%dd%02dh", s/86400, s/3600%24)
	}
}

// DurationMS prints ns as a bare number of milliseconds, for columns and panels whose title says ms: 0.012, 11.8, 120, 1,240.
func DurationMS(ns int64) string {
	s := significant(float64(ns) / 1e6)
	if tooLong(s) {
		return Count((ns + 5e5) / 1e6)
	}
	return s
}

// Clock prints a time in ns since 1970 as hours to milliseconds in loc (nil is UTC). 0 is unknown.
func Clock(ns int64, loc *time.Location) string { return clock(ns, loc, "15:04:05.000") }

// ClockSeconds is Clock without the milliseconds.
func ClockSeconds(ns int64, loc *time.Location) string { return clock(ns, loc, "15:04:05") }

// Date prints day and time to the second.
func Date(ns int64, loc *time.Location) string { return clock(ns, loc, "2006-01-02 15:04:05") }

func clock(ns int64, loc *time.Location, layout string) string {
	if ns == 0 {
		return Unknown
	}
	if loc == nil {
		loc = time.UTC
	}
	return time.Unix(0, ns).In(loc).Format(layout)
}
