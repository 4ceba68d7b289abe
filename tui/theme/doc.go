// Package theme says how the screen looks: which style each role of a cell has, and which runes draw borders, bars and marks.
//
// Panels speak in roles ("the series of prefill tokens", "a warning") and never in colours, so that one picture can be rendered for a dark
// or light background, for 16 colours, without colour, or for readers who cannot tell red from green. Colour is never the only carrier of
// meaning: a mark or a letter stands beside it, and the Mono theme is the proof.
package theme
