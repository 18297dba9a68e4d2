package headrace

import (
	"bytes"

	"github.com/headrace/headrace/internal/jsonwalk"
)

// mostKept bounds a member that is kept of a body that passes by, 4 KiB: a usage
// is a few hundred bytes.
const mostKept = 4 << 10

// mostEvent bounds the members that are kept of one event, which may repeat them.
const mostEvent = 4 * mostKept

// scan finds the usage in a body that passes by, and in a stream of events an
// error too. Both are looked for only where providers put them, so that nothing
// that a model or a tool has written is mistaken for them. Nothing else is kept.
type scan struct {
	stream bool // it is server-sent events
	named  bool // it is one object with an id
	lines  lines
	walker jsonwalk.Walker

	begun       bool // an event has ended
	some        bool // the event that is being read has data
	answered    bool // an event has ended that has data and is no error
	first, last []byte
	early       bool // all that was found was in the first event
	start       bool // the last finding was in a stream before its answer began

	event   []byte // the members of the event that is being read which explain an error
	cause   []byte // the error itself, which may be cut: it stands last
	fails   bool   // the event is an error
	failure []byte
}

func newScan(stream bool) *scan {
	s := &scan{stream: stream}
	s.walker.Visitor, s.walker.Max = s, mostKept
	return s
}

// write looks at the next bytes.
func (s *scan) write(p []byte) {
	if s.stream {
		s.lines.write(p, s)
		return
	}
	s.walker.Feed(p)
}

// passes takes an event that has neither a usage nor an error: no member of such a name, and no
// type that is one. Almost all are such.
func (s *scan) passes(event []byte) bool {
	for i := 1; i < len(event); i++ {
		if event[i-1] != '"' {
			continue
		}
		switch event[i] {
		case 'b', 'e', 'u':
			if tells(event[i:]) {
				return false
			}
		}
	}
	s.begun = true
	s.answered = s.answered || bytes.HasPrefix(event, []byte("data:")) || bytes.Contains(event, []byte("\ndata:"))
	return true
}

// answers reports whether what has passed by begins an answer: heartbeats, such as comments and blanks, do not.
func (s *scan) answers() bool {
	if s.stream {
		return s.answered && s.failure == nil
	}
	return s.walker.First() != 0
}

// tells reports whether a text may be the name of a usage or an error.
func tells(text []byte) bool {
	if rest, ok := bytes.CutPrefix(text, []byte(`usage"`)); ok {
		return !bytes.HasPrefix(rest, []byte(`:null`)) // as in most of OpenAI's
	}
	for _, name := range [...]string{`error"`, `usageMetadata"`, `usage_metadata"`, `billed_units"`, `base_resp"`} {
		if bytes.HasPrefix(text, []byte(name)) {
			return true
		}
	}
	return false
}

// data takes a part of what an event says.
func (s *scan) data(p []byte) {
	s.some = true
	s.walker.Feed(p)
}

// endEvent ends an event.
func (s *scan) endEvent() {
	s.begun = true
	if s.fails {
		s.failure = append(s.failure[:0], "data: {"...)
		s.failure = append(append(s.failure, s.event...), s.cause...)
		s.failure = append(bytes.TrimSuffix(s.failure, []byte(",")), "}\n\n"...)
	}
	s.answered = s.answered || s.some && !s.fails
	s.event, s.cause, s.fails, s.some = s.event[:0], s.cause[:0], false, false
	s.walker.Reset()
}

// Member implements jsonwalk.Visitor.
func (s *scan) Member(at *jsonwalk.Path, first byte) jsonwalk.Choice {
	object := first == '{'
	switch {
	case object && isUsage(at):
		return jsonwalk.Keep
	case s.stream && first != 'n' && isError(at): // it is not null
		s.fails = true
		return jsonwalk.Keep
	case at.Is("response", "meta"):
		return jsonwalk.Enter
	case at.Depth() > 1:
		return jsonwalk.Skip
	}
	switch string(at.Last()) {
	case "response", "delta", "meta", "x_groq":
		return jsonwalk.Enter
	case "message":
		if object {
			return jsonwalk.Enter
		}
	case "type", "code", "status", "object":
	case "id":
		s.named = !s.stream && first == '"'
		return jsonwalk.Skip
	default:
		return jsonwalk.Skip
	}
	if s.stream && !object {
		return jsonwalk.Keep
	}
	return jsonwalk.Skip
}

// isUsage reports whether a member is where a provider tells what a call has used.
func isUsage(at *jsonwalk.Path) bool {
	switch {
	case at.Is("usage"), at.Is("usageMetadata"), at.Is("usage_metadata"), at.Is("meta", "billed_units"):
		return true
	case at.Is("response", "usage"), at.Is("response", "usageMetadata"), at.Is("response", "meta", "billed_units"):
		return true
	}
	return at.Is("message", "usage") || at.Is("delta", "usage") || at.Is("x_groq", "usage")
}

// isError reports whether a member is where a provider tells of an error.
func isError(at *jsonwalk.Path) bool {
	return at.Is("error") || at.Is("base_resp") || at.Is("response", "error") || at.Is("x_groq", "error")
}

// Value implements jsonwalk.Visitor.
func (s *scan) Value(at *jsonwalk.Path, value []byte, whole bool) {
	for i, c := range value { // within a text there are none
		if c == '\n' || c == '\r' {
			value[i] = ' '
		}
	}
	if !whole && value[0] == '"' {
		value = append(value, '"')
	}
	switch {
	case isError(at):
		s.cause = member(s.cause[:0], at, value)
	case !isUsage(at):
		s.fails = s.fails || string(value) == `"error"` // its type, or that of the object
		if len(s.event) < mostEvent {
			s.event = append(member(s.event, at, value), ',')
		}
	case whole:
		s.start = s.stream && at.Is("message", "usage") // of Anthropic's message_start
		s.found(append(member([]byte("data: {"), at, value), "}\n\n"...))
	}
}

// member appends a member, within the objects that it stands in, to the members of an object.
func member(to []byte, at *jsonwalk.Path, value []byte) []byte {
	for i := range at.Depth() {
		if i > 0 {
			to = append(to, '{')
		}
		to = append(append(append(to, '"'), at.Key(i)...), `":`...)
	}
	to = append(to, value...)
	for range at.Depth() - 1 {
		to = append(to, '}')
	}
	return to
}

// found keeps the first and the last usage, for some providers report the prompt
// in the one and the answer in the other.
func (s *scan) found(event []byte) {
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
	if s.fails { // its event did not end
		s.endEvent()
	}
	if !whole && s.early {
		return s.failure
	}
	return bytes.Join([][]byte{s.first, s.last, s.failure}, nil)
}
