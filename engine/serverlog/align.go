package serverlog

import (
	"time"

	"opprof/engine/vllm"
)

// Known are moments of the run that other files tell, in ns since 1970. 0 is unknown.
type Known struct {
	StartNS int64 // when the recorder started: within the second before or after vLLM says that the engine is up
	LastNS  int64 // the last step
}

// Align lays the log beside known moments: lines have neither year nor zone.
func (l *Log) Align(k Known) { l.known.Store(&k) }

// calendar turns moments of the log into wall time.
type calendar struct {
	fit   vllm.Calendar
	years int8 // of the line it was fitted at
	known bool
}

func (s *State) calendar(k *Known) calendar {
	if k == nil {
		return calendar{}
	}
	anchor, wallNS := s.last, k.LastNS
	if k.StartNS != 0 {
		for _, p := range s.Phases {
			if p.Name == vllm.PhaseWarmup || p.Name == vllm.PhaseRoutes || p.Name == vllm.PhaseReady {
				anchor, wallNS = p.At, k.StartNS
				break
			}
		}
	}
	if !anchor.Known() || wallNS == 0 {
		return calendar{}
	}
	return calendar{fit: vllm.NewCalendar(anchor.LogTime, wallNS), years: anchor.Years, known: true}
}

// wallNS is a moment in ns since 1970, to the second; 0 when it is not known.
func (c calendar) wallNS(m Moment) int64 {
	if !c.known || !m.Known() {
		return 0
	}
	ns := c.fit.WallNS(m.LogTime)
	if m.Years == c.years || ns == 0 {
		return ns
	}
	return time.Unix(0, ns).UTC().AddDate(int(m.Years-c.years), 0, 0).UnixNano()
}
