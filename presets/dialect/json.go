package dialect

import (
	"bytes"
	"strconv"

	"github.com/headrace/headrace/throttle"
)

// scanner walks JSON once, from left to right, and allocates nothing. What it
// does not understand it skips, and a text that breaks off is one that ends
// there: half an error is often enough to know what it is.
//
//	for s.open('{'); s.next('}'); {
//		switch string(s.key()) {
//		case "code":
//			code = s.text()
//		default:
//			s.skip()
//		}
//	}
//
// Whatever takes a value takes exactly one.
type scanner struct {
	b     []byte
	i     int
	first bool // nothing has been taken of what was opened last
}

// peek returns the first byte of the value that comes next, 0 at the end.
func (s *scanner) peek() byte {
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// open goes into an object or an array, which peek has found.
func (s *scanner) open(byte) { s.i, s.first = s.i+1, true }

// next reports whether there is another member before the closing bracket,
// which it takes. Where the text makes no sense it ends.
func (s *scanner) next(closing byte) bool {
	c := s.peek()
	switch {
	case c == closing:
		s.i, s.first = s.i+1, false
		return false
	case s.first && c != 0:
		s.first = false
		return true
	case c == ',':
		s.i++
		if c = s.peek(); c != closing && c != 0 {
			return true
		}
		return s.next(closing)
	}
	s.i = len(s.b)
	return false
}

// key takes a member's name and the colon.
func (s *scanner) key() []byte {
	if s.peek() != '"' {
		s.i = len(s.b)
		return nil
	}
	k := s.text()
	if s.peek() != ':' {
		s.i = len(s.b)
		return nil
	}
	s.i++
	return k
}

// text takes a string and returns what is between its quotes, escapes as they are.
func (s *scanner) text() []byte {
	s.i++
	from := s.i
	for s.i < len(s.b) {
		n := bytes.IndexByte(s.b[s.i:], '"')
		if n < 0 {
			break
		}
		s.i += n + 1
		if !escaped(s.b[from : s.i-1]) {
			return s.b[from : s.i-1]
		}
	}
	s.i = len(s.b)
	return s.b[min(from, len(s.b)):]
}

// escaped reports whether what follows b is: it ends in an odd number of backslashes.
func escaped(b []byte) bool {
	n := 0
	for len(b) > n && b[len(b)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// scalar takes a number or a word.
func (s *scanner) scalar() []byte {
	from := s.i
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ',', ']', '}', ' ', '\t', '\r', '\n', '"', '[', '{', ':':
			if s.i == from { // nothing that can be taken
				s.i = len(s.b)
				return nil
			}
			return s.b[from:s.i]
		}
		s.i++
	}
	return s.b[from:]
}

// amount takes any value and returns it as an amount: 0 if it is none or
// negative, at most throttle.MaxAmount.
func (s *scanner) amount() int64 {
	if c := s.peek(); c != '-' && (c < '0' || c > '9') {
		s.skip()
		return 0
	}
	number := s.scalar()
	if n, ok := digits(number); ok {
		return n
	}
	f, err := strconv.ParseFloat(string(number), 64)
	switch {
	case !(f >= 0): // NaN too
		return 0
	case f > throttle.MaxAmount:
		return throttle.MaxAmount
	case err != nil:
		return 0
	}
	return int64(f)
}

// skip takes a value, however deep it is. Within it only quotes and brackets
// are looked at: an answer may hold a million numbers.
func (s *scanner) skip() {
	switch s.peek() {
	case '"':
		s.text()
		return
	case '{', '[':
	case 0, '}', ']', ',', ':': // there is no value
		s.i = len(s.b)
		return
	default:
		s.scalar()
		return
	}
	for depth := 0; s.i < len(s.b); {
		switch s.b[s.i] {
		case '"':
			s.text()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.i++
		if depth == 0 {
			return
		}
	}
}

// hollow reports whether the object or array that comes next is empty.
func (s *scanner) hollow() bool {
	inner := scanner{b: s.b, i: s.i + 1}
	c := inner.peek()
	return c == '}' || c == ']'
}
