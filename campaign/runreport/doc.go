// Package runreport is the report of one run: the figures of the screen, with plots over time, on a page that stands alone, and for scripts.
// It reads nothing: what is known of the run is given to it.
package runreport
