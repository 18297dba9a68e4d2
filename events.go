package headrace

import "bytes"

// lines takes server-sent events apart as they pass by: it hands on what the
// events say and where they end, of lines that end in any of the three ways.
type lines struct {
	matched int  // bytes of "data:" that the line begins with; other: it is another field
	some    bool // the line is not empty
	within  bool // the event has begun
	cr      bool // the last byte was the first half of a line end, or all of it
	blank   [1]byte
}

const other = -1

// events receives the parts of each event in a stream, and its end.
type events interface {
	passes(event []byte) bool // takes a whole one, unless it has to be taken in parts
	data(p []byte)            // a part of what one says
	endEvent()
}

// write takes the next bytes.
func (l *lines) write(p []byte, to events) {
	for len(p) > 0 {
		if !l.within && !l.cr {
			if n := whole(p); n > 0 && to.passes(p[:n]) {
				p = p[n:]
				continue
			}
		}
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		for len(line) > 0 {
			part, more, cr := bytes.Cut(line, []byte("\r"))
			l.part(part, to)
			if cr {
				l.end(to)
				l.cr = true
			}
			line = more
		}
		if ended {
			if !l.cr {
				l.end(to)
			}
			l.cr = false
		}
		p = rest
	}
}

// whole returns how long the event is that p begins with, with the empty line behind it, or 0
// if p has no such line.
func whole(p []byte) (n int) {
	for {
		i := bytes.IndexByte(p[n:], '\n')
		if i < 0 {
			return 0
		}
		if n += i + 1; i == 0 || i == 1 && p[n-2] == '\r' {
			return n
		}
	}
}

// part takes bytes within a line.
func (l *lines) part(p []byte, to events) {
	const field = "data:"
	if len(p) == 0 {
		return
	}
	l.some, l.within, l.cr = true, true, false
	for len(p) > 0 && l.matched >= 0 && l.matched < len(field) {
		if p[0] != field[l.matched] {
			l.matched = other
			return
		}
		l.matched++
		p = p[1:]
	}
	if l.matched == len(field) && len(p) > 0 {
		to.data(p)
	}
}

// end ends a line.
func (l *lines) end(to events) {
	switch {
	case !l.some:
		l.within = false
		to.endEvent()
	case l.matched > 0:
		l.blank[0] = ' '
		to.data(l.blank[:]) // between the lines of one event
	}
	l.matched, l.some = 0, false
}
