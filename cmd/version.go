package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// vllmVersion is the server version whose records and patch this program knows.
const vllmVersion = "0.24.0"

func newVersion(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  opprof version",
		Args:    exactly(),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(env.Stdout, versionLine())
			return err
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("opprof %s (vLLM %s, %s %s/%s)", buildVersion(), vllmVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// buildVersion is the module version, or the revision it was built from, or "devel".
func buildVersion() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := build.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range build.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	return "devel"
}
