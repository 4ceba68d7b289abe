package calibrate

import (
	"context"
	"math"

	"opprof/campaign/stat"
	"opprof/traces/family"
)

// WindowError is how far the models are off on a window that they were not fitted to.
type WindowError struct {
	Window string
	Inside bool    // what the window holds lies within what the others show
	LogErr float64 // mean over its steps of ln(measured/predicted)
	Spread float64 // standard deviation of that over its steps
	Steps  int
}

// HeldOut are the errors of held-out windows: of each family, and of the busy time.
type HeldOut struct {
	Family [family.Count][]WindowError
	Busy   []WindowError
}

// NewHeldOut fits the models to all windows but one, for each of them in turn, and looks at that one: steps of a window are nearly copies of
// each other, so leaving out steps would find a model in order whatever it is. Windows in which a family takes no time are passed over.
func NewHeldOut(set *Set) *HeldOut {
	out, _ := holdOut(context.Background(), set) // a context that does not end gives no error
	return out
}

func holdOut(ctx context.Context, set *Set) (*HeldOut, error) {
	out := &HeldOut{}
	for w, name := range set.Windows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var rest, held []Sample
		for _, s := range set.Samples {
			if s.Window == w {
				held = append(held, s)
			} else {
				rest = append(rest, s)
			}
		}
		if len(rest) == 0 {
			continue
		}
		models, hull, inside := Fit(rest), NewHull(rest), true
		for i := range held {
			inside = inside && hull.Holds(&held[i].Composition)
		}
		add := func(to []WindowError, measured, predicted func(*Sample) float64) []WindowError {
			e, ok := windowError(held, measured, predicted)
			if !ok {
				return to
			}
			e.Window, e.Inside = name, inside
			return append(to, e)
		}
		for f := range family.Count {
			out.Family[f] = add(out.Family[f], func(s *Sample) float64 { return s.FamilyNS[f] }, func(s *Sample) float64 { return models[f].Predict(&s.Composition) })
		}
		out.Busy = add(out.Busy, func(s *Sample) float64 { return s.BusyNS }, func(s *Sample) float64 { return models.Busy(&s.Composition) })
	}
	return out, nil
}

// windowError is unknown where nothing is measured, or predicted, in any step.
func windowError(held []Sample, measured, predicted func(*Sample) float64) (WindowError, bool) {
	var logs []float64
	for i := range held {
		if m, p := measured(&held[i]), predicted(&held[i]); m > 0 && p > 0 {
			logs = append(logs, math.Log(m/p))
		}
	}
	if len(logs) == 0 {
		return WindowError{}, false
	}
	e := WindowError{LogErr: stat.Mean(logs), Steps: len(logs)}
	if len(logs) > 1 {
		e.Spread = stat.SD(logs)
	}
	return e, true
}

// MinWindows are needed for an interval: two errors tell nothing about a third.
const MinWindows = 3

// Interval is the half-width, as a log ratio, that holds a further step of a further window with 95 %: errors of held-out windows about 0,
// since what is known of a bias is known from too few windows to correct it, and the spread of steps within a window. ok is false for fewer
// than three windows.
func Interval(errors []WindowError) (half float64, ok bool) {
	if len(errors) < MinWindows {
		return 0, false
	}
	var between, within float64
	n := float64(len(errors))
	for _, e := range errors {
		between += e.LogErr * e.LogErr / n
		within += e.Spread * e.Spread / n
	}
	return stat.TQuantile(0.975, len(errors)) * math.Sqrt(between+within), true
}

// MeanAbs is the mean of the windows' absolute errors, as a ratio, and the largest; false without windows.
func MeanAbs(errors []WindowError) (mean, largest float64, ok bool) {
	for _, e := range errors {
		v := math.Abs(math.Expm1(-e.LogErr)) // of the prediction, relative to the measurement
		mean += v / float64(len(errors))
		largest = max(largest, v)
	}
	return mean, largest, len(errors) > 0
}
