// Command opprof explains every serving iteration of a vLLM server in a terminal.
package main

import (
	"os"

	"opprof/cmd"
)

func main() {
	os.Exit(int(cmd.Main(cmd.OS())))
}
