// Package feed reads the Layer-1 streams of a run once, from their first bytes to what was there when they were opened, and gives every line with
// its place on the time axis. Rotated parts follow each other, compressed ones are inflated, and a damaged line is given as what it is.
package feed
