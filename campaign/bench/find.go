package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fileNames are those that generators which write into a folder give their results: GuideLLM, AIPerf, inference-perf.
func fileNames() []string {
	return []string{"benchmarks.json", "profile_export_aiperf.json", "summary_lifecycle_metrics.json"}
}

// findDepth bounds how far down a generator's folder is looked through: some make one by date and model.
const findDepth = 4

// Find is the file with the results at a path: the file itself, or of a folder the one that bears a generator's name for it, or else its only
// JSON file.
func Find(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("the load generator left no results: %w", err)
	}
	if !st.IsDir() {
		return path, nil
	}
	var known, all []string
	err = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(path, at)
		switch {
		case err != nil || relErr != nil:
			return errors.Join(err, relErr)
		case d.IsDir() && strings.Count(rel, string(filepath.Separator)) >= findDepth:
			return fs.SkipDir
		case !d.Type().IsRegular() || filepath.Ext(at) != ".json":
			return nil
		}
		all = append(all, at)
		if slices.Contains(fileNames(), d.Name()) {
			known = append(known, at)
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("cannot look for results: %w", err)
	}
	if len(known) == 1 {
		return known[0], nil
	}
	if len(known) == 0 && len(all) == 1 {
		return all[0], nil
	}
	return "", fmt.Errorf("%s holds %d JSON files, %d of them with a generator's name for its results: expected one; let the load's command write to {result} itself",
		path, len(all), len(known))
}
