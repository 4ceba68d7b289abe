package overlay

import "embed"

//go:embed edits.toml python/opprof.py python/test_opprof.py
var embedded embed.FS

// Embedded is the patch that this OpProf carries.
func Embedded() (*Patch, error) { return NewPatch(embedded) }
