// Package report turns the runs of a campaign into its verdict and its reports: Markdown, one HTML file that asks nothing of the network, JSON,
// and the paired numbers as CSV. Which pairs count is decided here, from what the runs measured, the same way while a campaign runs and after.
package report
