package cmd

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"opprof/campaign/retention"
	"opprof/engine/serverconf"
)

// retentionTable is the table of the preferences file that says how long runs are kept.
const retentionTable = "retention"

// retentionKey is one key of it, which is also a flag of prune, with dashes.
type retentionKey struct {
	key, usage, example string
	set                 func(*retention.Policy, string) error
	get                 func(retention.Policy) string // "" when it is off
}

func (k retentionKey) flag() string { return strings.ReplaceAll(k.key, "_", "-") }

func retentionKeys() []retentionKey {
	return []retentionKey{
		{"keep_days", "delete runs that nothing was written to for so many days", "90",
			func(p *retention.Policy, v string) error {
				n, err := strconv.ParseFloat(v, 64)
				if err != nil || !(n > 0 && n <= 36500) {
					return fmt.Errorf("want a number of days such as 90, got %q", v)
				}
				p.KeepFor = time.Duration(n * 24 * float64(time.Hour))
				return nil
			},
			func(p retention.Policy) string { return numberOf(p.KeepFor.Hours() / 24) }},
		{"keep_gb", "delete the oldest runs while all of them take more than so many GB (10^9 bytes)", "500",
			func(p *retention.Policy, v string) error {
				n, err := strconv.ParseFloat(v, 64)
				if err != nil || !(n > 0 && n <= 1e9) {
					return fmt.Errorf("want a number of GB such as 500, got %q", v)
				}
				p.KeepBytes = max(1, int64(n*1e9))
				return nil
			},
			func(p retention.Policy) string { return numberOf(float64(p.KeepBytes) / 1e9) }},
		{"compact_after", "compact runs that nothing was written to for so long", "2d",
			func(p *retention.Policy, v string) (err error) {
				p.CompactAfter, err = parseAge(v)
				return err
			},
			func(p retention.Policy) string {
				if p.CompactAfter == 0 {
					return ""
				}
				return p.CompactAfter.String()
			}},
	}
}

func numberOf(n float64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// parseAge takes a duration, or days such as 2d.
func parseAge(v string) (time.Duration, error) {
	wrong := fmt.Errorf("want a time such as 36h or 2d, got %q", v)
	if n, ok := strings.CutSuffix(v, "d"); ok {
		days, err := strconv.ParseFloat(n, 64)
		if err != nil || !(days > 0 && days <= 36500) {
			return 0, wrong
		}
		return time.Duration(days * 24 * float64(time.Hour)), nil
	}
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		return 0, wrong
	}
	return d, nil
}

// parseRetention reads the table of a preferences file.
func parseRetention(path, text string, value any) (p retention.Policy, err error) {
	at := lineOf(text, retentionTable)
	table, ok := value.(map[string]any)
	if !ok {
		return p, fmt.Errorf("cannot read preferences: %s:%d: %s: want a table, [%s], got %s", path, at, retentionTable, retentionTable, tomlText(value))
	}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		line := at + lineOf(strings.Join(strings.Split(text, "\n")[at-1:], "\n"), key) - 1
		i := slices.IndexFunc(retentionKeys(), func(k retentionKey) bool { return k.key == key })
		if i < 0 {
			return p, fmt.Errorf("cannot read preferences: %s:%d: unknown key %q in [%s]%s", path, line, key, retentionTable, nearestRetention(key))
		}
		var v string
		switch x := table[key].(type) {
		case string:
			v = x
		case int64:
			v = strconv.FormatInt(x, 10)
		case float64:
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return p, fmt.Errorf("cannot read preferences: %s:%d: %s: want a number", path, line, key)
			}
			v = strconv.FormatFloat(x, 'f', -1, 64)
		default:
			return p, fmt.Errorf("cannot read preferences: %s:%d: %s: want a value such as %s, got %s", path, line, key, retentionKeys()[i].example, tomlText(x))
		}
		if err := retentionKeys()[i].set(&p, v); err != nil {
			return p, fmt.Errorf("cannot read preferences: %s:%d: %s: %w", path, line, key, err)
		}
	}
	return p, nil
}

func nearestRetention(key string) string {
	for _, k := range retentionKeys() {
		if serverconf.EditDistance(key, k.key) <= 2 {
			return fmt.Sprintf("; did you mean %q?", k.key)
		}
	}
	return ""
}
