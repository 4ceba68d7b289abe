// Package panel draws the parts of all pages: a panel turns the values that it is given, such as a store.Frame, a profiler window or how a
// campaign stands, into cells of a chart.Grid. Panels are plain functions without state. They hold no figure of their own: what they print is in
// those values, and what it means is in the definitions of each page.
package panel
