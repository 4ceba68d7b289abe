package cmd

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"opprof/engine/overlay"
)

// newPatchOverlay prints what opprof launch puts first on PYTHONPATH, for a server that is started by hand.
func newPatchOverlay(env *Env, target *patchTarget) *cobra.Command {
	return &cobra.Command{
		Use:   "overlay",
		Short: "Build the private overlay and print its folder, for PYTHONPATH",
		Long: `Builds the overlay that opprof launch uses, or verifies the one that is there, and prints its folder. Put it first on PYTHONPATH and set
VLLM_OPPROF_DIR to an absolute folder, and a server that you start yourself records its steps. Prints nothing when the installation itself
is patched: then none is needed.`,
		Example: `  PYTHONPATH=$(opprof patch overlay) VLLM_OPPROF_DIR=/runs/a/layer1 vllm serve MODEL`,
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			p, s, err := target.open(c.Context())
			if err != nil {
				return err
			}
			root, err := overlay.CacheRoot(env.Getenv)
			if err != nil {
				return err
			}
			o, err := overlay.NewCache(root, time.Now).Build(c.Context(), p, s)
			if err != nil {
				return err
			}
			defer o.Close()
			if o.Dir == "" {
				return nil
			}
			_, err = fmt.Fprintln(env.Stdout, o.Dir)
			return err
		},
	}
}
