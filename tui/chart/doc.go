// Package chart draws into a grid of cells: text, boxes, histograms, bars, time series, heat rows, axes.
//
// A Grid holds one printable rune of exactly one column per cell, whatever text is written into it, so that a screen can be measured in cells
// and nothing from outside reaches the terminal as a sequence. Charts never write outside the grid that they are given, and a grid
// of any size, zero included, is a valid one. Unknown values are gaps, never zeros.
package chart
