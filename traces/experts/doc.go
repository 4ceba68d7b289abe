// Package experts reads which experts a mixture-of-experts model chose for every token and layer, and says how evenly the work fell on them:
// counts, entropy, maximum over mean, and the imbalance over the ranks of an expert-parallel placement.
//
// The ids come from a server started with --enable-return-routed-experts: in its responses as base64 of a NumPy file, or from the offline
// interface as arrays saved with numpy.save. They are logical ids, from before any rebalancing of experts over ranks.
package experts
