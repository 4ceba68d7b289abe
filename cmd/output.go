package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// printJSON prints one indented object and a newline. Runes that a terminal acts on are written as escapes, which mean the same.
func printJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	if err == nil {
		_, err = w.Write(escapeJSON(b.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("cannot print JSON: %w", err)
	}
	return nil
}

// escapeJSON writes the C1 controls and the invisible runes of a JSON text, which stand in its strings only, as \uXXXX.
func escapeJSON(text []byte) []byte {
	if bytes.IndexFunc(text, commands) < 0 {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case !commands(r):
			out = append(out, text[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[n:]
	}
	return out
}

// commands reports whether a rune beyond ASCII does something to a terminal or to the text around it: C1 controls, direction marks, joiners.
func commands(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r > 0x9f && unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// printable is text from outside as one line that any terminal only shows: what is not a printable character is written as in a Go string.
func printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r == utf8.RuneError || r != ' ' && !unicode.IsPrint(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case r == ' ' || unicode.IsPrint(r):
			b.WriteString(s[:n])
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		s = s[n:]
	}
	return b.String()
}

// printf prints a message whose arguments come from outside: strings and errors are made printable, so that the format alone makes lines.
func printf(w io.Writer, format string, args ...any) error {
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			args[i] = printable(v)
		case error:
			args[i] = printable(v.Error())
		}
	}
	_, err := fmt.Fprintf(w, format, args...)
	return err
}

// note says on standard error what is out of order and stops nothing.
func (e *Env) note(err error) { _ = printf(e.Stderr, "note: %s\n", err) }

// plainWriter lets nothing through that is not printable but the ends of lines.
type plainWriter struct{ io.Writer }

func (w plainWriter) Write(p []byte) (int, error) {
	lines := strings.Split(string(p), "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	if _, err := io.WriteString(w.Writer, strings.Join(lines, "\n")); err != nil {
		return 0, err
	}
	return len(p), nil
}
