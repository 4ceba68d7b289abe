package store

import (
	"encoding/json"

	"opprof/engine/record"
)

// graphNames are the modes by their names in JSON.
type graphNames struct {
	Full      int64 `json:"FULL"`
	Piecewise int64 `json:"PIECEWISE"`
	None      int64 `json:"NONE"`
	Other     int64 `json:"other"`
	Unknown   int64 `json:"unknown"`
}

// MarshalJSON writes an object by the modes' names.
func (g GraphSteps) MarshalJSON() ([]byte, error) {
	return json.Marshal(graphNames{g[record.GraphFull], g[record.GraphPiecewise], g[record.GraphNone], g[record.GraphOther], g[record.GraphUnknown]})
}
