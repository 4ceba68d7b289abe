package figure

import (
	"math"
	"time"

	"gonum.org/v1/plot"

	"opprof/engine/unit"
)

// numbers are ticks at round values.
type numbers struct{}

// Ticks implements plot.Ticker.
func (numbers) Ticks(low, high float64) []plot.Tick {
	const most = 6
	step := math.Pow(10, math.Floor(math.Log10((high-low)/most)))
	for _, m := range []float64{2, 2.5, 2} { // 1, 2, 5, 10
		if (high-low)/step > most {
			step *= m
		}
	}
	var out []plot.Tick
	for k := math.Ceil(low / step); k*step <= high && len(out) < 4*most; k++ {
		out = append(out, plot.Tick{Value: k * step, Label: unit.Tick(k * step)})
	}
	return out
}

// decades are ticks at 1, 2 and 5 times the powers of ten, with words at the powers alone where there are many.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(low, high float64) []plot.Tick {
	var out []plot.Tick
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	wide, each := high/low > 300, math.Ceil((last-first)/12)
	for e := first; e <= last; e += each {
		for _, m := range []float64{1, 2, 5} {
			if each > 1 && m != 1 {
				continue
			}
			v := m * math.Pow(10, e)
			if v < low || v > high {
				continue
			}
			label := unit.Tick(v)
			if wide && m != 1 {
				label = ""
			}
			out = append(out, plot.Tick{Value: v, Label: label})
		}
	}
	return out
}

// clock are ticks at whole seconds, minutes or hours of the day.
type clock struct {
	fromNS int64
	zone   *time.Location
}

// Ticks implements plot.Ticker.
func (c clock) Ticks(low, high float64) []plot.Tick {
	const most = 5
	step := int64(time.Millisecond)
	for _, s := range []time.Duration{
		time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
		10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
	} {
		if step = int64(s); (high-low)/float64(step) <= most {
			break
		}
	}
	layout := "15:04"
	switch {
	case step < int64(time.Second):
		layout = "15:04:05.000"
	case step < int64(time.Minute):
		layout = "15:04:05"
	case step >= int64(24*time.Hour):
		layout = "01-02"
	}
	zone := c.zone
	if zone == nil {
		zone = time.UTC
	}
	start := time.Unix(0, c.fromNS+int64(low)).In(zone)
	_, offset := start.Zone()
	local := start.UnixNano() + int64(offset)*int64(time.Second)
	var out []plot.Tick
	for at := (local + step - 1) / step * step; float64(at-local)+low <= high && len(out) < 2*most; at += step {
		x := float64(at-local) + low
		out = append(out, plot.Tick{Value: x, Label: time.Unix(0, c.fromNS+int64(x)).In(zone).Format(layout)})
	}
	return out
}
