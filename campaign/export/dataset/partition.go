package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// unknown is the value of a partition that has none. The convention for null would keep PyArrow from telling the type of a column that has
	// nothing else.
	unknown = "-"
	// longestValue is how long the value of a partition may be, so that any file system takes the folder's name.
	longestValue = 200
	hashDigits   = 16
)

// partition is the name of a partition's folder: key=value, the value with all but letters, digits, dot, dash and underscore as %XX. An
// empty value is a dash. What would be too long is cut and told apart by a hash.
func partition(key, value string) string {
	switch value {
	case "":
		return key + "=" + unknown
	case unknown:
		return key + "=%2D"
	}
	var b strings.Builder
	for i := range len(value) {
		if c := value[i]; plain(c) {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		}
	}
	escaped := b.String()
	if len(escaped) > longestValue {
		hash := sha256.Sum256([]byte(value))
		escaped = whole(escaped[:longestValue-hashDigits-1]) + "-" + hex.EncodeToString(hash[:hashDigits/2])
	}
	return key + "=" + escaped
}

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_'
}

// whole takes half an escape, and the bytes of half a rune, off the end.
func whole(escaped string) string {
	if i := strings.LastIndexByte(escaped, '%'); i >= len(escaped)-2 && i >= 0 {
		escaped = escaped[:i]
	}
	for len(escaped) >= 3 && escaped[len(escaped)-3] == '%' && escaped[len(escaped)-2] >= '8' {
		escaped = escaped[:len(escaped)-3]
	}
	return escaped
}
