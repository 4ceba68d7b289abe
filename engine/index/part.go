package index

import (
	"math"

	"opprof/engine/store"
)

// overviewRollups is how many rollups an overview of a run takes: more than a screen has columns, few enough to be read at once.
const overviewRollups = 8192

// Parts are what store.Assemble takes, one for each engine of the stream, without whole steps; those come from StepsAround. The overviews
// are made once and serve every cursor.
func (x *Index) Parts(stream string) ([]store.Part, error) {
	parts := make([]store.Part, 0, len(x.last.Engines))
	for i := range x.last.Engines {
		e := &x.last.Engines[i]
		rollups, err := x.Rollups(e.ID, math.MinInt64, math.MaxInt64, overviewRollups)
		if err != nil {
			return nil, err
		}
		parts = append(parts, store.Part{
			Engine: e.ID, Stream: stream, Header: e.Header, Footer: e.Footer, Profiles: e.Profiles, Dummies: e.Dummies, Loss: e.Loss,
			Overview: store.NewOverview(rollups),
		})
	}
	return parts, nil
}
