package jsonwalk

import (
	"bytes"
	"unicode/utf8"
)

// begin decides about a value by its first byte, and takes that.
func (w *Walker) begin(c byte) int {
	if c == ',' || c == ':' || c == ']' || c == '}' {
		w.state = broken
		return 1
	}
	choice := Skip
	if w.Visitor != nil && !w.path.keys[w.path.depth-1].tooLong() {
		choice = w.Visitor.Member(&w.path, c)
	}
	if choice == Enter && c == '{' && w.path.depth < MaxDepth {
		w.path.depth++
		w.state = member
		return 1
	}
	w.keep = choice == Keep
	w.kept, w.cut = w.kept[:0], false
	return w.pass(c)
}

// pass goes into a value that is skipped or kept.
func (w *Walker) pass(c byte) int {
	switch c {
	case '"':
		w.state = inText
	case '{', '[':
		w.state, w.nesting = inNested, 1
	default:
		w.state = inScalar
	}
	w.collect([]byte{c})
	return 1
}

// stepValue goes on within a value.
func (w *Walker) stepValue(p []byte) (n int) {
	var ended bool
	switch w.state {
	case inText:
		n, ended = w.text(p)
	case inScalar:
		n, ended = scalar(p)
	case nestedText:
		if n, ended = w.text(p); ended {
			w.state, ended = inNested, false
		}
	default:
		n, ended = w.nested(p)
	}
	w.collect(p[:n])
	if ended {
		w.end()
	}
	return n
}

// collect keeps what belongs to the value, up to the bound.
func (w *Walker) collect(p []byte) {
	if !w.keep || w.cut {
		return
	}
	if room := w.Max - len(w.kept); len(p) > room {
		p, w.cut = p[:max(room, 0)], true
	}
	w.kept = append(w.kept, p...)
}

// end ends a value.
func (w *Walker) end() {
	if w.path.depth == 0 {
		w.endOutermost()
		return
	}
	w.state = next
	if !w.keep {
		return
	}
	w.keep = false
	if w.cut && len(w.kept) > 0 && w.kept[0] == '"' {
		w.kept = complete(w.kept)
	}
	w.Visitor.Value(&w.path, w.kept, !w.cut)
}

// stepKey goes on within a key.
func (w *Walker) stepKey(p []byte) int {
	n, ended := w.text(p)
	k := &w.path.keys[w.path.depth-1]
	if ended {
		k.add(p[:n-1])
		w.state = colon
	} else {
		k.add(p[:n])
	}
	return n
}

// text returns how much of p belongs to the text, and whether it ends there,
// its quote included. A long text costs two searches.
func (w *Walker) text(p []byte) (n int, ended bool) {
	if w.escaped {
		w.escaped = false
		n = 1
	}
	for {
		end := bytes.IndexByte(p[n:], '"')
		if ended = end >= 0; ended {
			end += n
		} else {
			end = len(p)
		}
		for {
			i := bytes.IndexByte(p[n:end], '\\')
			if i < 0 {
				if ended {
					end++
				}
				return end, ended
			}
			if n += i + 2; n > end {
				break // it escapes the quote, or what has not arrived
			}
		}
		if n > len(p) {
			w.escaped = true
			return len(p), false
		}
	}
}

// nested returns how much of p belongs to an object or a list, and whether it ends there.
func (w *Walker) nested(p []byte) (n int, ended bool) {
	for n < len(p) {
		c := p[n]
		n++
		switch c {
		case '"':
			taken, whole := w.text(p[n:])
			if n += taken; !whole {
				w.state = nestedText
				return n, false
			}
		case '{', '[':
			w.nesting++
		case '}', ']':
			if w.nesting--; w.nesting == 0 {
				return n, true
			}
		}
	}
	return n, false
}

// scalar returns how much of p belongs to a number or a word.
func scalar(p []byte) (n int, ended bool) {
	for n < len(p) {
		switch p[n] {
		case ',', '}', ']', ' ', '\n', '\r', '\t', '"', '{', '[', ':':
			return n, true
		}
		n++
	}
	return n, false
}

// complete cuts an unfinished escape or character off a text.
func complete(text []byte) []byte {
	const longest = len(`\u0000`)
	for i := len(text) - 1; i > max(0, len(text)-longest); i-- {
		if text[i] != '\\' || escaped(text[1:i]) {
			continue
		}
		if rest := text[i:]; len(rest) == 1 || rest[1] == 'u' {
			return text[:i]
		}
		break
	}
	for i := len(text) - 1; i > max(0, len(text)-utf8.UTFMax); i-- {
		if !utf8.RuneStart(text[i]) {
			continue
		}
		if !utf8.FullRune(text[i:]) {
			return text[:i]
		}
		break
	}
	return text
}

// escaped reports whether what follows b is: it ends in an odd number of backslashes.
func escaped(b []byte) bool {
	n := 0
	for len(b) > n && b[len(b)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}
