// Package retention says what becomes of the runs under a runs root as they grow old: which are compacted, which are deleted, and why each other
// one stays. Planning touches nothing. Deleting stays below the root, follows no link, and asks once more whether a run is in use.
package retention
