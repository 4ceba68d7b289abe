// Package runner carries a campaign out: one fresh server for each run, off and on side by side, until every run of the plan has ended.
//
// The journal of the campaign's folder is the truth. A runner that was killed at any event is followed by another that reads the journal, ends
// what is left of the run in progress, and goes on. The unit that is never split is the pair: one that a crash, an order to stop or another
// machine interrupted is begun again as a whole, whatever its first runs had measured; one whose runs ended is judged once and stays as it
// was judged, whatever comes of that. A pair that does not count is dropped with its reason and not replaced.
package runner
