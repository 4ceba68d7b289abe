package experts

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// maxHeader bounds the header of a NumPy file: that of an integer array has about a hundred bytes.
const maxHeader = 1 << 16

// Sizes beyond which a shape is damage and not a model. MaxExperts also bounds ids.
const (
	maxLayers  = 1 << 10
	MaxExperts = 1 << 14
)

// magic begins every NumPy file (numpy/lib/format.py); two bytes of version follow.
const magic = "\x93NUMPY"

// Array is one array of routed ids, [tokens, layers, top-k], in the layout of its file. Tokens are those of one sequence; the last token of a
// sequence is not routed any more, so a server returns one fewer than it counts.
type Array struct {
	Tokens, Layers, TopK int

	data   []byte
	order  binary.ByteOrder
	width  int // bytes of an id
	signed bool
	// strides of the three axes, in ids
	strides [3]int
}

// ID is the expert that was chosen k-th for a token in a layer. What is above the largest int64 is -1, which no expert has.
func (a *Array) ID(token, layer, k int) int64 {
	at := (token*a.strides[0] + layer*a.strides[1] + k*a.strides[2]) * a.width
	b := a.data[at : at+a.width]
	var v uint64
	switch a.width {
	case 1:
		v = uint64(b[0])
	case 2:
		v = uint64(a.order.Uint16(b))
	case 4:
		v = uint64(a.order.Uint32(b))
	default:
		v = a.order.Uint64(b)
	}
	if a.signed {
		shift := 64 - 8*a.width
		return int64(v<<shift) >> shift
	}
	if v > math.MaxInt64 {
		return -1
	}
	return int64(v)
}

// ReadNPY reads one NumPy file, versions 1 to 3, of integers of 1 to 8 bytes in either byte order and in C or Fortran order. limit bounds its
// data in bytes. The error says at what the file departs from an array of routed ids.
func ReadNPY(r io.Reader, limit int64) (*Array, error) {
	h, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	a, err := h.array()
	if err != nil {
		return nil, err
	}
	size, ok := product(a.Tokens, a.Layers, a.TopK, a.width)
	if !ok || size > limit {
		return nil, fmt.Errorf("shape %v of %s is larger than %d bytes", h.shape, h.descr, limit)
	}
	// Read what is there instead of making room for what the header promises.
	var data bytes.Buffer
	n, err := io.Copy(&data, io.LimitReader(r, size+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read data: %w", err)
	case n < size:
		return nil, fmt.Errorf("data ends after %d of %d bytes: the file is cut off", n, size)
	case n > size:
		return nil, fmt.Errorf("more than the %d bytes of data that shape %v needs", size, h.shape)
	}
	a.data = data.Bytes()
	return a, nil
}

// product multiplies sizes; ok is false when the result does not fit.
func product(sizes ...int) (int64, bool) {
	p := int64(1)
	for _, s := range sizes {
		if s == 0 {
			return 0, true
		}
		if p > math.MaxInt64/int64(s) {
			return 0, false
		}
		p *= int64(s)
	}
	return p, true
}

// header is the dictionary of a NumPy file.
type header struct {
	descr   string
	fortran bool
	shape   []int
}

func readHeader(r io.Reader) (header, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || string(head[:6]) != magic {
		return header{}, errors.New("not a NumPy file: it does not begin with \\x93NUMPY")
	}
	var size uint32
	switch major := head[6]; major {
	case 1:
		var b [2]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return header{}, errCutHeader
		}
		size = uint32(binary.LittleEndian.Uint16(b[:]))
	case 2, 3:
		var b [4]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return header{}, errCutHeader
		}
		size = binary.LittleEndian.Uint32(b[:])
	default:
		return header{}, fmt.Errorf("NumPy format version %d: expected 1, 2 or 3", major)
	}
	if size > maxHeader {
		return header{}, fmt.Errorf("a header of %d bytes: expected at most %d", size, maxHeader)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return header{}, errCutHeader
	}
	return parseHeader(string(text))
}

var errCutHeader = errors.New("the header is cut off")

// array turns the header into an array without data.
func (h header) array() (*Array, error) {
	a := &Array{order: binary.LittleEndian}
	if len(h.descr) != 3 {
		return nil, fmt.Errorf("elements are %q: expected integers, such as |u1 or <u2", h.descr)
	}
	switch h.descr[0] {
	case '>':
		a.order = binary.BigEndian
	case '<', '|', '=':
	default:
		return nil, fmt.Errorf("elements are %q: the byte order is none of <, >, | and =", h.descr)
	}
	switch kind := h.descr[1]; kind {
	case 'i', 'u':
		a.signed = kind == 'i'
	default:
		return nil, fmt.Errorf("elements are %q: expected integers (i or u)", h.descr)
	}
	switch h.descr[2] {
	case '1', '2', '4', '8':
		a.width = int(h.descr[2] - '0')
	default:
		return nil, fmt.Errorf("elements are %q: expected 1, 2, 4 or 8 bytes", h.descr)
	}
	if len(h.shape) != 3 {
		return nil, fmt.Errorf("shape %v has %d axes: expected three, (tokens, layers, top-k)", h.shape, len(h.shape))
	}
	a.Tokens, a.Layers, a.TopK = h.shape[0], h.shape[1], h.shape[2]
	if a.Layers == 0 || a.TopK == 0 || a.Layers > maxLayers || a.TopK > MaxExperts {
		return nil, fmt.Errorf("shape %v: expected (tokens, layers, top-k) with 1 to %d layers and 1 to %d experts a token", h.shape, maxLayers, MaxExperts)
	}
	a.strides = [3]int{a.Layers * a.TopK, a.TopK, 1}
	if h.fortran {
		a.strides = [3]int{1, a.Tokens, a.Tokens * a.Layers}
	}
	return a, nil
}
