package unit

import "strings"

// Counted prints a count with its noun, which is given for one: 1 pair, 2 pairs, 0 processes, 1,200 queries.
func Counted[N int | int32 | int64](n N, noun string) string {
	return Count(int64(n)) + " " + Plural(n, noun)
}

// Plural is the noun, given for one, as it stands behind a count of n.
func Plural[N int | int32 | int64](n N, noun string) string {
	if n == 1 {
		return noun
	}
	for _, end := range []string{"s", "x", "ch", "sh"} {
		if strings.HasSuffix(noun, end) {
			return noun + "es"
		}
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok && stem != "" && !strings.ContainsAny(stem[len(stem)-1:], "aeiou") {
		return stem + "ies"
	}
	return noun + "s"
}

// Verb is the word that agrees with a count of n.
func Verb[N int | int32 | int64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
