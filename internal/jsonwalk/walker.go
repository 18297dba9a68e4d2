package jsonwalk

// Choice is what a Walker does with the value of a member.
type Choice uint8

// The choices.
const (
	Skip  Choice = iota // pass over it
	Enter               // report the members of an object; anything else is skipped
	Keep                // collect it for Visitor.Value
)

// Visitor receives members while a Walker is fed. Its arguments are valid
// during the call only.
type Visitor interface {
	// Member is called where the value of a member begins. first is the first
	// byte of the value, which shows its kind.
	Member(at *Path, first byte) Choice

	// Value is called where a value ends for which Member chose Keep. whole is
	// false if it was longer than the Walker's bound; then value is its
	// beginning. A text that was cut ends with a complete character or escape.
	Value(at *Path, value []byte, whole bool)
}

// Walker follows a sequence of JSON values that arrives in pieces. The elements
// of an outermost list count as outermost values, because a stream may be sent
// as one list. It is for one goroutine. The zero Walker reports nothing but
// First, Ended and Broken.
type Walker struct {
	Visitor Visitor // nil: all members are skipped
	Max     int     // bound of a kept value in bytes, quotes and brackets included

	state   state
	list    bool // within an outermost list
	escaped bool // the last byte of a text was a backslash that escapes the next
	keep    bool // the current value is collected
	cut     bool // and was longer than Max
	first   byte
	nesting int // open brackets of the value that is skipped or kept
	ended   int
	path    Path
	kept    []byte
}

type state uint8

const (
	outside    state = iota // before an outermost value
	member                  // before the key of an object, or its end
	inKey                   //
	colon                   // before it
	value                   // before the value of a member
	inText                  // within a value that is a text,
	inScalar                // a number or a word,
	inNested                // an object or a list,
	nestedText              // a text of one
	next                    // behind the value of a member
	broken                  // not JSON
)

// Reset begins a new sequence of values.
func (w *Walker) Reset() {
	*w = Walker{Visitor: w.Visitor, Max: w.Max, kept: w.kept[:0]}
}

// First is the first byte of the first value, 0 before it.
func (w *Walker) First() byte { return w.first }

// Ended is the number of outermost values that have ended. A list counts as one.
func (w *Walker) Ended() int { return w.ended }

// Broken reports whether something came that is not JSON. Nothing behind it is reported.
func (w *Walker) Broken() bool { return w.state == broken }

// Feed takes the next piece of the input.
func (w *Walker) Feed(p []byte) {
	for len(p) > 0 && w.state != broken {
		p = p[w.step(p):]
	}
}

// step takes at least one byte of p, or changes the state.
func (w *Walker) step(p []byte) int {
	switch w.state {
	case inKey:
		return w.stepKey(p)
	case inText, inScalar, inNested, nestedText:
		return w.stepValue(p)
	default:
		return w.between(p[0])
	}
}

// between takes a byte outside of keys and values.
func (w *Walker) between(c byte) int {
	if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
		return 1
	}
	switch w.state {
	case outside:
		return w.stepOutside(c)
	case value:
		return w.begin(c)
	case member:
		if c == '"' {
			w.state = inKey
			w.path.keys[w.path.depth-1].n = 0
			return 1
		}
	case colon:
		w.state = broken
		if c == ':' {
			w.state = value
		}
		return 1
	case next:
		if c == ',' {
			w.state = member
			return 1
		}
	default:
	}
	if c == '}' {
		w.leave()
	} else {
		w.state = broken
	}
	return 1
}

func (w *Walker) stepOutside(c byte) int {
	if w.first == 0 {
		w.first = c
	}
	switch {
	case c == '{':
		w.state, w.path.depth = member, 1
	case c == '[' && !w.list:
		w.list = true
	case c == ']' && w.list:
		w.list = false
		w.ended++
	case c == ',' && w.list:
	case c == ',' || c == ':' || c == ']' || c == '}':
		w.state = broken
	default:
		return w.pass(c)
	}
	return 1
}

// leave ends an object that was entered.
func (w *Walker) leave() {
	w.state = next
	if w.path.depth--; w.path.depth == 0 {
		w.endOutermost()
	}
}

func (w *Walker) endOutermost() {
	w.state = outside
	if !w.list {
		w.ended++
	}
}
