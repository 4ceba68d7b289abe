package chart

// foldRanges shares n bins among at most rows groups of neighbours; [from, to) of each.
func foldRanges(n, rows int) [][2]int {
	rows = max(0, min(n, rows))
	out := make([][2]int, rows)
	for i := range rows {
		out[i] = [2]int{i * n / rows, (i + 1) * n / rows}
	}
	return out
}

// foldLabels labels groups of bins whose labels are upper edges: a group has that of its last bin, and the last group, which is open, is
// named after the edge where it begins.
func foldLabels(labels []string, groups [][2]int) []string {
	out := make([]string, len(groups))
	for i, r := range groups {
		out[i] = labels[r[1]-1]
		if i == len(groups)-1 && r[1]-r[0] > 1 && r[0] > 0 {
			out[i] = ">" + labels[r[0]-1]
		}
	}
	return out
}

// sum adds the known values of rows at position i; unknown when none is known. Rows may have different lengths and end together.
func sum(rows [][]Value, i, n int) Value {
	var out Value
	for _, r := range rows {
		if j := len(r) - n + i; j >= 0 && r[j].Known {
			out = Of(out.V + r[j].V)
		}
	}
	return out
}
