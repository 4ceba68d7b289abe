// Package figure draws the plots of a report as inline SVG: in the colours of the page around it, which may be light, dark or paper, readable
// without colour, and with the values under the pointer or the focus. A value that is not finite is a gap.
package figure
