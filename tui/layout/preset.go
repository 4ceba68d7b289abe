package layout

// Preset is a choice of panels for one question.
type Preset uint8

// Presets. PresetAll shows what fits, by importance.
const (
	PresetAll    Preset = iota
	PresetTime          // where does the time go
	PresetMemory        // who holds the KV cache
	PresetLoad          // what is in the batch
	Presets             // number of presets
)

func (p Preset) String() string {
	return [...]string{"all", "time", "memory", "load"}[p%Presets]
}

// rows returns the rows of a preset that is not PresetAll. Every panel is one of the full ones: a few large panels have the room.
func (p Preset) rows() []row {
	switch p {
	case PresetTime:
		return []row{
			{min: 6, want: 12, grow: 3, columns: []column{col(1, Period)}},
			{min: 6, want: 9, grow: 1, columns: []column{col(1, Graph), col(1, Preempt)}},
			{min: 7, want: 10, grow: 1, columns: []column{col(1, Step)}},
			{min: 4, want: 7, extra: true, columns: []column{col(1, Windows)}},
		}
	case PresetMemory:
		return []row{
			{min: 6, want: 10, grow: 2, columns: []column{col(2, KV), col(3, Prefix)}},
			{min: 6, want: 14, grow: 2, columns: []column{col(2, Context), col(3, ContextTime)}},
			{min: 6, want: 9, grow: 1, columns: []column{col(2, Preempt), col(3, Queues)}},
		}
	}
	return []row{
		{min: 6, want: 10, grow: 2, columns: []column{col(1, Batch), col(1, Queues)}},
		{min: 6, want: 12, grow: 1, columns: []column{col(1, Chunk), col(1, Context)}},
		{min: 6, want: 8, grow: 2, columns: []column{col(1, Period)}},
	}
}
