package jsonwalk

import "bytes"

// Cursor goes over JSON that is in memory once, from left to right, and
// allocates nothing. What it does not understand it skips, and a text that
// breaks off ends there: half an error is often enough to know what it is.
//
//	for c.Open(); c.Next('}'); {
//		switch string(c.Key()) {
//		case "code":
//			code = c.Text()
//		default:
//			c.Skip()
//		}
//	}
//
// Whatever takes a value takes exactly one.
type Cursor struct {
	b     []byte
	i     int
	first bool // nothing has been taken of what was opened last
}

// At returns a cursor at the beginning of b, which it does not change.
func At(b []byte) Cursor { return Cursor{b: b} }

// Peek returns the first byte of the value that comes next, 0 at the end.
func (c *Cursor) Peek() byte {
	for ; c.i < len(c.b); c.i++ {
		switch b := c.b[c.i]; b {
		case ' ', '\t', '\r', '\n':
		default:
			return b
		}
	}
	return 0
}

// Open goes into the object or list that Peek has found.
func (c *Cursor) Open() { c.i, c.first = c.i+1, true }

// Next reports whether there is another member before the closing bracket,
// which it takes. Where the text makes no sense it ends.
func (c *Cursor) Next(closing byte) bool {
	b := c.Peek()
	switch {
	case b == closing:
		c.i, c.first = c.i+1, false
		return false
	case c.first && b != 0:
		c.first = false
		return true
	case b == ',':
		c.i++
		if b = c.Peek(); b != closing && b != 0 {
			return true
		}
		return c.Next(closing)
	}
	c.i = len(c.b)
	return false
}

// Key takes a member's name, as Text does, and the colon.
func (c *Cursor) Key() []byte {
	if c.Peek() != '"' {
		c.i = len(c.b)
		return nil
	}
	k := c.Text()
	if c.Peek() != ':' {
		c.i = len(c.b)
		return nil
	}
	c.i++
	return k
}

// Text takes a text, which Peek has found, and returns what is between its
// quotes, with escapes as they are written.
func (c *Cursor) Text() []byte {
	c.i++
	from := c.i
	for c.i < len(c.b) {
		n := bytes.IndexByte(c.b[c.i:], '"')
		if n < 0 {
			break
		}
		c.i += n + 1
		if c.b[c.i-2] != '\\' || !escaped(c.b[from:c.i-1]) {
			return c.b[from : c.i-1]
		}
	}
	c.i = len(c.b)
	return c.b[min(from, len(c.b)):]
}

// Scalar takes a number or a word.
func (c *Cursor) Scalar() []byte {
	n, _ := scalar(c.b[c.i:])
	if n == 0 { // nothing that can be taken
		c.i = len(c.b)
		return nil
	}
	c.i += n
	return c.b[c.i-n : c.i]
}

// Skip takes a value, however deep it is. Within it only quotes and brackets
// are looked at: an answer may hold a million numbers.
func (c *Cursor) Skip() {
	switch c.Peek() {
	case '"':
		c.Text()
		return
	case '{', '[':
	case 0, '}', ']', ',', ':': // there is no value
		c.i = len(c.b)
		return
	default:
		c.Scalar()
		return
	}
	for depth := 0; c.i < len(c.b); {
		switch c.b[c.i] {
		case '"':
			c.Text()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		c.i++
		if depth == 0 {
			return
		}
	}
}

// Raw takes a value, as Skip does, and returns it as it is written.
func (c *Cursor) Raw() []byte {
	c.Peek()
	from := c.i
	c.Skip()
	return c.b[from:c.i]
}

// Hollow reports whether the object or list that comes next is empty.
func (c *Cursor) Hollow() bool {
	inner := Cursor{b: c.b, i: c.i + 1}
	b := inner.Peek()
	return b == '}' || b == ']'
}

// TextOf returns the text that the object in b has under key, nil if there is none.
func TextOf(b []byte, key string) []byte {
	c := At(b)
	if c.Peek() != '{' {
		return nil
	}
	for c.Open(); c.Next('}'); {
		if found := string(c.Key()) == key; found && c.Peek() == '"' {
			return c.Text()
		}
		c.Skip()
	}
	return nil
}
