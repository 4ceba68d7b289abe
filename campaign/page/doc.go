// Package page is a report as one document: sections of text, tables and plots, written as one HTML file that asks nothing of the network or as
// Markdown. Both hold the same words and figures. Text from outside is escaped here and nowhere else.
package page
