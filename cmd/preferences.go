package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/spf13/pflag"

	"opprof/campaign/retention"
	"opprof/engine/alert"
	"opprof/engine/regular"
	"opprof/engine/serverconf"
	"opprof/tui/theme"
)

// preferences are what a user sets once for every screen. They are looked up as flag, then environment, then file, then default.
type preferences struct {
	theme      string
	glyphs     string
	color      string
	tick       time.Duration
	timeZone   string
	syncOutput string
	density    string
	mouse      string
	logFile    string
	logLevel   string
	limits     alert.Thresholds
}

// location is the zone of the times shown.
func (p *preferences) location() *time.Location {
	if p.timeZone == "utc" {
		return time.UTC
	}
	return time.Local
}

// setting is one preference: the key in the file; --key with dashes is its flag and OPPROF_KEY its variable.
type setting struct {
	key     string
	usage   string
	choices []string // nil when any value that set takes will do
	initial string
	set     func(*preferences, string) error
	get     func(*preferences) string
}

func (s setting) flag() string     { return strings.ReplaceAll(s.key, "_", "-") }
func (s setting) variable() string { return "OPPROF_" + strings.ToUpper(s.key) }

const (
	minTick = 50 * time.Millisecond
	maxTick = 10 * time.Second
)

func settings() []setting {
	text := func(field func(*preferences) *string) (func(*preferences, string) error, func(*preferences) string) {
		return func(p *preferences, v string) error { *field(p) = v; return nil }, func(p *preferences) string { return *field(p) }
	}
	choice := func(key, usage, initial string, choices []string, field func(*preferences) *string) setting {
		set, get := text(field)
		return setting{key: key, usage: usage, choices: choices, initial: initial, set: set, get: get}
	}
	return []setting{
		choice("theme", "colours of the screen; auto asks the terminal", "auto", append([]string{"auto"}, theme.Names()...), func(p *preferences) *string { return &p.theme }),
		choice("glyphs", "characters of charts and borders; auto goes by the locale", "auto", []string{"auto", "unicode", "ascii"},
			func(p *preferences) *string { return &p.glyphs }),
		choice("color", "when to use colours; auto goes by the terminal and NO_COLOR", "auto", []string{"auto", "always", "never"},
			func(p *preferences) *string { return &p.color }),
		{key: "tick", usage: "time between two pictures, 50ms to 10s", initial: "250ms", set: setTick,
			get: func(p *preferences) string { return p.tick.String() }},
		choice("time_zone", "zone of the times shown", "local", []string{"local", "utc"}, func(p *preferences) *string { return &p.timeZone }),
		choice("sync_output", "wrap each picture so that the terminal shows it at once; auto asks the terminal", "auto", []string{"auto", "on", "off"},
			func(p *preferences) *string { return &p.syncOutput }),
		choice("density", "how much a page shows at once; auto goes by the terminal's width", "auto", []string{"auto", "compact", "normal", "full"},
			func(p *preferences) *string { return &p.density }),
		choice("mouse", "whether the screen reads the mouse; a key switches it while it is open", "on", []string{"on", "off"},
			func(p *preferences) *string { return &p.mouse }),
		choice("log_file", "the program's own log; empty is $XDG_STATE_HOME/opprof/opprof.log", "", nil, func(p *preferences) *string { return &p.logFile }),
		choice("log_level", "what is written there", "info", []string{"off", "error", "warn", "info", "debug"}, func(p *preferences) *string { return &p.logLevel }),
		warnStall(), warnPreemptions(),
		warnShare("warn_kv", "warn when so much of the KV cache is in use, or off", func(t *alert.Thresholds) *float64 { return &t.KVUsage }),
		warnShare("warn_graph_misses", "warn when so many decode steps of 10 s run without a CUDA graph, or off", func(t *alert.Thresholds) *float64 { return &t.GraphMisses }),
		warnShare("warn_padding", "warn when so much of the captured sizes of 10 s is padding, or off", func(t *alert.Thresholds) *float64 { return &t.Padding }),
	}
}

func setTick(p *preferences, v string) error {
	d, err := time.ParseDuration(v)
	if err != nil || d < minTick || d > maxTick {
		return fmt.Errorf("want a duration from %s to %s such as 250ms", minTick, maxTick)
	}
	p.tick = d
	return nil
}

// assign checks a value from the outside and stores it.
func (s setting) assign(p *preferences, v string) error {
	if s.choices != nil && !slices.Contains(s.choices, v) {
		return fmt.Errorf("%s: want %s, got %q", s.key, strings.Join(s.choices, ", "), v)
	}
	if err := s.set(p, v); err != nil {
		return fmt.Errorf("%s: %w, got %q", s.key, err, v)
	}
	return nil
}

// preferenceFlags are the flags that a command takes for settings, and where the file lies.
type preferenceFlags struct {
	file   string
	values map[string]*string
	flags  *pflag.FlagSet
}

// bindPreferences adds the flags of a command that opens a screen.
func bindPreferences(flags *pflag.FlagSet) *preferenceFlags { return bindSettings(flags, settings()) }

// bindPrinted adds the flags of a command that only prints: the zone of its times, and from when something is a warning.
func bindPrinted(flags *pflag.FlagSet) *preferenceFlags {
	return bindSettings(flags, slices.DeleteFunc(settings(), func(s setting) bool { return s.key != "time_zone" && !strings.HasPrefix(s.key, "warn_") }))
}

func bindSettings(flags *pflag.FlagSet, all []setting) *preferenceFlags {
	b := &preferenceFlags{values: map[string]*string{}, flags: flags}
	flags.StringVar(&b.file, "config", "", "preferences file (default $XDG_CONFIG_HOME/opprof/config.toml)")
	for _, s := range all {
		usage := s.usage
		if s.choices != nil {
			usage += " (" + strings.Join(s.choices, "|") + ")"
		}
		b.values[s.key] = flags.String(s.flag(), s.initial, usage)
	}
	return b
}

// fromDefault is the origin of a value that nobody set.
const fromDefault = "default"

// origin says where each effective value came from, by key.
type origin map[string]string

// resolve looks every setting up: flag, environment, file, default. All faults are usage errors that name their place.
func (b *preferenceFlags) resolve(env *Env) (*preferences, origin, error) {
	file, err := b.read(env)
	if err != nil {
		return nil, nil, WithCode(err, ExitUsage)
	}
	p, from := &preferences{}, origin{}
	for _, s := range settings() {
		value, source := s.initial, fromDefault
		if v, ok := file.values[s.key]; ok {
			value, source = v.text, fmt.Sprintf("%s:%d", file.path, v.line)
		}
		if s.key == "color" && env.Getenv("NO_COLOR") != "" {
			value, source = "never", "$NO_COLOR"
		}
		if v := env.Getenv(s.variable()); v != "" {
			value, source = v, "$"+s.variable()
		}
		if b.flags.Changed(s.flag()) {
			value, source = *b.values[s.key], "--"+s.flag()
		}
		if err := s.assign(p, value); err != nil {
			return nil, nil, usageErrorf("%s: %w", source, err)
		}
		from[s.key] = source
	}
	return p, from, nil
}

type fileValue struct {
	text string
	line int
}

type preferenceFile struct {
	path      string
	values    map[string]fileValue
	retention retention.Policy
}

// path is where the preferences lie: --config, $OPPROF_CONFIG, or the user's place for them.
func (b *preferenceFlags) path(env *Env) (string, error) {
	if b.file != "" {
		return b.file, nil
	}
	if path := env.Getenv("OPPROF_CONFIG"); path != "" {
		return path, nil
	}
	return env.places().Preferences()
}

// settingsMax bounds the bytes of a file that a user writes by hand: preferences, kernel rules, a placement.
const settingsMax = 1 << 20

// read takes the preferences file apart. A file that is not there is empty, unless it was named.
func (b *preferenceFlags) read(env *Env) (preferenceFile, error) {
	named := b.file != "" || env.Getenv("OPPROF_CONFIG") != ""
	path, err := b.path(env)
	if err != nil {
		return preferenceFile{}, nil // without a home there is nowhere to look
	}
	text, err := regular.Read(path, settingsMax)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return preferenceFile{path: path}, nil
	}
	if err != nil {
		return preferenceFile{}, WithHint(fmt.Errorf("cannot read preferences: %w", err), "--config FILE or OPPROF_CONFIG names another file")
	}
	file, err := parsePreferences(path, string(text))
	return file, WithHint(err, "opprof config init prints a file with every key and its default")
}

func parsePreferences(path, text string) (preferenceFile, error) {
	file := preferenceFile{path: path, values: map[string]fileValue{}}
	var tree map[string]any
	if _, err := toml.Decode(text, &tree); err != nil {
		var parse toml.ParseError
		if errors.As(err, &parse) {
			return file, fmt.Errorf("cannot read preferences: %s:%d: %s", path, parse.Position.Line, parse.Message)
		}
		return file, fmt.Errorf("cannot read preferences: %s: %w", path, err)
	}
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		line := lineOf(text, key)
		if key == retentionTable {
			var err error
			if file.retention, err = parseRetention(path, text, tree[key]); err != nil {
				return file, err
			}
			continue
		}
		if _, ok := settingOf(key); !ok {
			return file, fmt.Errorf("cannot read preferences: %s:%d: unknown key %q%s", path, line, key, nearestKey(key))
		}
		value := tree[key]
		switch value.(type) {
		case string, bool:
		default:
			return file, fmt.Errorf("cannot read preferences: %s:%d: %s: want %s, got %s", path, line, key, wanted(key), tomlText(value))
		}
		file.values[key] = fileValue{text: fmt.Sprint(value), line: line}
	}
	return file, nil
}

// wanted says how a setting is written.
func wanted(key string) string {
	s, _ := settingOf(key)
	switch {
	case s.key == "mouse":
		return "\"on\" or \"off\""
	case s.choices != nil:
		return "one of \"" + strings.Join(s.choices, "\", \"") + "\" in quotes"
	case s.initial == "":
		return "a text in quotes"
	}
	return "a text in quotes such as \"" + s.initial + "\""
}

// tomlText is a value as a user wrote it, or what it is where that is long.
func tomlText(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "a table"
	case []any, []map[string]any:
		return "a list"
	case int64, float64:
		return fmt.Sprintf("the number %v", v)
	}
	return fmt.Sprint(v)
}

func settingOf(key string) (setting, bool) {
	for _, s := range settings() {
		if s.key == key {
			return s, true
		}
	}
	return setting{}, false
}

// lineOf finds the line that sets a top-level key or opens its table: the TOML library keeps no positions of values that parse.
func lineOf(text, key string) int {
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimLeft(strings.TrimSpace(line), `["' `)
		rest, ok := strings.CutPrefix(line, key)
		if ok && strings.IndexAny(strings.TrimLeft(rest, `"' `), "=.]") == 0 {
			return i + 1
		}
	}
	return 1
}

// nearestKey suggests the key that was probably meant: within two edits, or of the same beginning.
func nearestKey(key string) string {
	best, distance := "", 3
	for _, s := range settings() {
		if d := serverconf.EditDistance(key, s.key); d < distance {
			best, distance = s.key, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
