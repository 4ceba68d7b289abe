package panel

// foldBins groups neighbouring bins of a histogram until there are at most rows groups. Bins at both ends that were empty in the whole
// run go first, since a bin that is not empty stays so and the picture keeps its lines; the rest is shared evenly. Labels are upper
// edges: a group has that of its last bin, and the open last group is named after the edge where it begins.
func foldBins(labels []string, run []int64, rows int) (groups [][2]int, names []string) {
	n := min(len(labels), len(run))
	if rows <= 0 || n == 0 {
		return nil, nil
	}
	first, last := 0, n
	if n > rows {
		for first < n-1 && run[first] == 0 {
			first++
		}
		for last > first+1 && run[last-1] == 0 {
			last--
		}
	}
	groups = shareBins(first, last, n, rows)
	for _, g := range groups {
		name := labels[g[1]-1]
		if g[1] == n && g[1]-g[0] > 1 && g[0] > 0 {
			name = ">" + labels[g[0]-1]
		}
		names = append(names, name)
	}
	return groups, names
}

// shareBins puts the bins before first into one group, those from last on into another, and shares the rest among the rows that are left.
func shareBins(first, last, n, rows int) [][2]int {
	if rows < 3 {
		first, last = 0, n
	}
	ends := 0
	if first > 0 {
		ends++
	}
	if last < n {
		ends++
	}
	middle := max(1, min(last-first, rows-ends))
	var groups [][2]int
	if first > 0 {
		groups = append(groups, [2]int{0, first})
	}
	for i := range middle {
		groups = append(groups, [2]int{first + i*(last-first)/middle, first + (i+1)*(last-first)/middle})
	}
	if last < n {
		groups = append(groups, [2]int{last, n})
	}
	return groups
}

// foldCounts adds up the counts of each group.
func foldCounts(groups [][2]int, counts []int64) []int64 {
	out := make([]int64, len(groups))
	for i, g := range groups {
		out[i] = sumOf(counts[g[0]:g[1]])
	}
	return out
}

func sumOf(counts []int64) int64 {
	var n int64
	for _, c := range counts {
		n += c
	}
	return n
}
