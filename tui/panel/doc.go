// Package panel draws the parts of the live and review page: each panel turns values of a store.Frame into cells of a chart.Grid. Panels
// are plain functions without state. They hold no figure of their own: what they print is in the frame, and what it means is in
// Definitions.
package panel
