package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"opprof/tui/theme"
)

type infoOptions struct {
	json        bool
	preferences *preferenceFlags
}

// facts is what `info --json` prints: everything this program uses of its surroundings.
type facts struct {
	Schema      int64         `json:"schema"`
	Version     string        `json:"version"`
	VLLMVersion string        `json:"vllm_version"` // of the server that the patch is for
	Go          string        `json:"go"`
	Platform    string        `json:"platform"`
	Paths       []namedPath   `json:"paths"`
	Terminal    terminalFacts `json:"terminal"`
}

type namedPath struct {
	Name   string `json:"name"`
	Path   string `json:"path"` // "" when it has no place, see Error
	Exists bool   `json:"exists"`
	Error  string `json:"error"`
}

type terminalFacts struct {
	Interactive bool   `json:"interactive"` // a screen can be shown
	Term        string `json:"term"`
	ColorTerm   string `json:"colorterm"`
	Columns     int    `json:"columns"` // 0 unknown
	Rows        int    `json:"rows"`
	SSH         bool   `json:"ssh"`
	Tmux        bool   `json:"tmux"`
	NoColor     bool   `json:"no_color"`
	Theme       string `json:"theme"`  // chosen before the terminal is asked for its background
	Glyphs      string `json:"glyphs"` // unicode or ascii
	Locale      string `json:"locale"`
}

func newInfo(env *Env) *cobra.Command {
	o := &infoOptions{}
	c := &cobra.Command{
		Use:     "info",
		Short:   "Print versions, every path in use, and what is known of the terminal",
		Example: "  opprof info\n  opprof info --json",
		Args:    exactly(),
		RunE:    func(*cobra.Command, []string) error { return o.run(env) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	o.preferences = bindPreferences(c.Flags())
	return c
}

func (o *infoOptions) run(env *Env) error {
	p, _, err := o.preferences.resolve(env)
	if err != nil {
		return err
	}
	f, err := gatherFacts(env, p, o.preferences)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(env.Stdout, f)
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "version\t%s\nvLLM\t%s\nbuilt with\t%s %s\n\n", f.Version, f.VLLMVersion, f.Go, f.Platform)
	for _, path := range f.Paths {
		note := ""
		switch {
		case path.Error != "":
			note = path.Error
		case !path.Exists:
			note = "(not there yet)"
		}
		_ = printf(w, "%s\t%s %s\n", path.Name, path.Path, note)
	}
	t := f.Terminal
	_ = printf(w, "\nterminal\t%s, %s\nsize\t%s\ntheme\t%s, %s\nlocale\t%s\nover ssh, in tmux\t%s, %s\n",
		orDash(t.Term), yesNo(t.Interactive, "can show screens", "no screen: summaries are printed"), size(t.Columns, t.Rows),
		t.Theme, t.Glyphs, orDash(t.Locale), yesNo(t.SSH, "yes", "no"), yesNo(t.Tmux, "yes", "no"))
	return w.Flush()
}

func gatherFacts(env *Env, p *preferences, flags *preferenceFlags) (*facts, error) {
	look, err := theme.Choose(env.Getenv, theme.Prefs{Theme: p.theme, Color: p.color, Glyphs: p.glyphs})
	if err != nil {
		return nil, WithCode(err, ExitUsage)
	}
	f := &facts{
		Schema: 1, Version: buildVersion(), VLLMVersion: vllmVersion, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Terminal: terminalFacts{
			Interactive: env.interactive(), Term: env.Getenv("TERM"), ColorTerm: env.Getenv("COLORTERM"),
			SSH: env.Getenv("SSH_TTY") != "" || env.Getenv("SSH_CONNECTION") != "", Tmux: env.Getenv("TMUX") != "",
			NoColor: env.Getenv("NO_COLOR") != "", Theme: look.Name, Glyphs: glyphsName(look), Locale: locale(env),
		},
	}
	f.Terminal.Columns, f.Terminal.Rows = env.terminalSize()
	places := env.places()
	f.add("runs", places.Runs)
	f.add("preferences", func() (string, error) { return flags.path(env) })
	f.add("screen state", places.ScreenState)
	f.add("log", func() (string, error) { return logPath(env, p), nil })
	f.add("index cache", places.IndexCache)
	f.add("overlays", func() (string, error) { return above(places.Overlay("version", "patch", "site")) })
	f.add("sockets", func() (string, error) { return above(places.Socket("run")) })
	f.add("demo", func() (string, error) { return os.TempDir(), nil })
	return f, nil
}

// above is the folder of a path.
func above(path string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}

func (f *facts) add(name string, place func() (string, error)) {
	path, err := place()
	n := namedPath{Name: name, Path: path}
	if err != nil {
		n.Error = err.Error()
	} else if _, err := os.Stat(path); err == nil {
		n.Exists = true
	}
	f.Paths = append(f.Paths, n)
}

func glyphsName(t *theme.Theme) string {
	if t.Glyphs.ASCII {
		return "ascii"
	}
	return "unicode"
}

func locale(env *Env) string {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := env.Getenv(name); v != "" {
			return v
		}
	}
	return ""
}

func yesNo(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func size(columns, rows int) string {
	if columns == 0 {
		return "-"
	}
	return fmt.Sprintf("%d columns, %d rows", columns, rows)
}
