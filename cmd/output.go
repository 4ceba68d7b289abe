package cmd

import (
	"encoding/json"
	"fmt"
	"io"
)

// printJSON prints one indented object and a newline.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("cannot print JSON: %w", err)
	}
	return nil
}
