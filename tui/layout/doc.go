// Package layout decides where the panels of a page stand. It is pure: a size and a few facts in, rectangles out.
package layout
