package headrace

import "bytes"

// mostUsage bounds an object that is kept, 4 KiB: a usage is a few hundred bytes.
const mostUsage = 4 << 10

// scan finds the usage in a body that passes by, and in a stream of events an
// error too, without keeping anything else. It knows as much JSON as it needs: a key is
// a short text before a colon, and within a text the quotes of one would be escaped.
type scan struct {
	stream bool // it is server-sent events

	state state
	name  [len("usageMetadata")]byte // the text that may become a key
	n     int                        // of name; longer than it: no key that matters
	of    key                        // of the object that is being read
	depth int
	quote bool // within a text
	slash bool // behind a backslash
	taken []byte

	begun       bool // an event has ended
	line        bool // the last byte was the end of a line
	first, last []byte
	early       bool // all that was found was in the first event
	failure     []byte
}

type state uint8

const (
	seeking state = iota
	naming        // behind a quote
	named         // behind a text that is a key of ours
	opening       // behind its colon
	taking        // within its object
)

type key uint8

const (
	noKey key = iota
	usageKey
	metadataKey // Gemini's
	errorKey
)

// write looks at the next bytes.
func (s *scan) write(p []byte) {
	for len(p) > 0 {
		if s.state == seeking && (s.begun || !s.stream) {
			i := bytes.IndexByte(p, '"')
			if i < 0 {
				return
			}
			p = p[i:]
		}
		s.step(p[0])
		p = p[1:]
	}
}

func (s *scan) step(c byte) {
	if s.stream && !s.begun {
		s.begun = c == '\n' && s.line
		s.line = c == '\n' || c == '\r' && s.line
	}
	switch s.state {
	case seeking:
	case taking:
		s.take(c)
		return
	case naming:
		s.spell(c)
		return
	case named, opening:
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			return
		case s.state == named && c == ':':
			s.state = opening
			return
		case s.state == opening && c == '{':
			s.state, s.depth, s.quote, s.slash = taking, 0, false, false
			s.taken = make([]byte, 0, 256)
			s.take(c)
			return
		}
	}
	s.state = seeking
	if c == '"' {
		s.state, s.n = naming, 0
	}
}

// spell takes a byte of what may be a key. The quote behind something else may
// be the one before a key: which of them is which shows only here.
func (s *scan) spell(c byte) {
	switch {
	case c != '"' && s.n < len(s.name):
		s.name[s.n] = c
		s.n++
	case c != '"':
		s.state = seeking
	default:
		s.of = s.keyOf(s.name[:s.n])
		if s.n = 0; s.of != noKey {
			s.state = named
		}
	}
}

func (s *scan) keyOf(name []byte) key {
	switch string(name) {
	case "usage":
		return usageKey
	case "usageMetadata":
		return metadataKey
	case "error":
		if s.stream {
			return errorKey
		}
	}
	return noKey
}

// take takes a byte of an object.
func (s *scan) take(c byte) {
	if len(s.taken) == mostUsage {
		s.state, s.taken = seeking, nil
		return
	}
	s.taken = append(s.taken, c)
	switch {
	case s.slash:
		s.slash = false
	case c == '\\':
		s.slash = s.quote
	case c == '"':
		s.quote = !s.quote
	case s.quote:
	case c == '{':
		s.depth++
	case c == '}':
		if s.depth--; s.depth == 0 {
			s.keep()
			s.state, s.taken = seeking, nil
		}
	}
}

// keep keeps the first and the last usage, for some providers tell the prompt
// in the one and the answer in the other, and the last error.
func (s *scan) keep() {
	switch s.of {
	case usageKey:
		s.found(append([]byte(`data: {"usage":`), s.taken...))
	case metadataKey:
		s.found(append([]byte(`data: {"usageMetadata":`), s.taken...))
	case errorKey:
		s.failure = append(append([]byte(`data: {"type":"error","error":`), s.taken...), "}\n\n"...)
	case noKey:
	}
}

func (s *scan) found(event []byte) {
	event = append(event, "}\n\n"...)
	s.early = s.stream && !s.begun
	if s.first == nil {
		s.first = event
		return
	}
	s.last = event
}

// told is what was found, as events that a dialect can read. Of a body that was
// not read to its end, what the first event says of usage is not the last word.
func (s *scan) told(whole bool) []byte {
	if !whole && s.early {
		return s.failure
	}
	return bytes.Join([][]byte{s.first, s.last, s.failure}, nil)
}
