// Package alert judges steps: conditions that an operator wants to hear of become warnings with a sentence, a count, and the first and the
// last time. It draws nothing and reads no files.
package alert
