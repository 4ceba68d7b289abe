package cmd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"opprof/engine/alert"
)

// off is the value that switches a warning off.
const off = "off"

// warnStall is the preference for the step period from which a step is a stall worth a warning.
func warnStall() setting {
	return setting{key: "warn_stall", usage: "warn when a step takes so long, or off", initial: time.Duration(alert.Default().StallNS).String(),
		set: func(p *preferences, v string) error {
			if p.limits.StallNS = 0; v == off {
				return nil
			}
			d, err := time.ParseDuration(v)
			if err != nil || d <= 0 {
				return errors.New("want a duration such as 500ms, or off")
			}
			p.limits.StallNS = int64(d)
			return nil
		},
		get: func(p *preferences) string {
			return orOff(p.limits.StallNS > 0, time.Duration(p.limits.StallNS).String())
		}}
}

// warnPreemptions is the preference for the preemptions within ten seconds that are thrashing.
func warnPreemptions() setting {
	return setting{key: "warn_preemptions", usage: "warn when so many requests are preempted within 10 s, or off", initial: strconv.FormatInt(alert.Default().Preemptions, 10),
		set: func(p *preferences, v string) error {
			if p.limits.Preemptions = 0; v == off {
				return nil
			}
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil || n <= 0 {
				return errors.New("want a number such as 10, or off")
			}
			p.limits.Preemptions = n
			return nil
		},
		get: func(p *preferences) string {
			return orOff(p.limits.Preemptions > 0, strconv.FormatInt(p.limits.Preemptions, 10))
		}}
}

// warnShare is the preference for a share in percent.
func warnShare(key, usage string, of func(*alert.Thresholds) *float64) setting {
	limits := alert.Default()
	return setting{key: key, usage: usage, initial: percent(*of(&limits)),
		set: func(p *preferences, v string) error {
			share := of(&p.limits)
			if *share = 0; v == off {
				return nil
			}
			n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(v, "%")), 64)
			if err != nil || !(n > 0 && n <= 100) {
				return errors.New("want a share such as 95%, or off")
			}
			*share = n / 100
			return nil
		},
		get: func(p *preferences) string { return orOff(*of(&p.limits) > 0, percent(*of(&p.limits))) }}
}

func percent(share float64) string { return fmt.Sprintf("%.4g%%", 100*share) }

func orOff(on bool, v string) string {
	if on {
		return v
	}
	return off
}
