// Package plan reads the [campaign] section of a campaign file and turns it into the runs of the campaign: cells of the matrix, pairs, and arms
// in ABBA order. Everything that could be bent to reach a verdict, such as the number of pairs, is fixed here before the first run.
package plan
