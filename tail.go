package headrace

import "bytes"

// Bounds on what is kept of a long body behind its head: a model and a few
// numbers are a few hundred bytes.
const (
	mostTail = 16 << 10
	mostText = 1 << 10 // of one text
)

// tail gathers the outermost members of a JSON object that stand behind what
// was kept of it, without what is nested in them: SDKs may write the messages
// before the model. What it has can be put before the rest of the object.
type tail struct {
	behind bool // what comes is not kept elsewhere
	whole  bool // the member that was begun before has ended
	full   bool
	over   bool // the object has ended

	depth int
	quote bool // within a text
	slash bool // behind a backslash
	text  int  // bytes of it that were put
	cut   bool // no more of it is kept

	out  []byte
	last int // the end of the last member in out that is complete
}

// write looks at the next bytes.
func (t *tail) write(p []byte) {
	for len(p) > 0 && !t.over {
		p = p[t.idle(p):]
		if len(p) > 0 {
			t.step(p[0])
			p = p[1:]
		}
	}
}

// idle is how much of p is in the middle of a text that is nested: an image, mostly.
func (t *tail) idle(p []byte) int {
	if !t.quote || t.slash || t.depth < 2 {
		return 0
	}
	end := bytes.IndexByte(p, '"')
	if end < 0 {
		end = len(p)
	}
	if escape := bytes.IndexByte(p[:end], '\\'); escape >= 0 {
		return escape
	}
	return end
}

func (t *tail) step(c byte) {
	before, escaped := t.depth, t.slash
	switch {
	case escaped:
		t.slash = false
	case t.quote && c == '\\':
		t.slash = true
	case c == '"':
		t.quote = !t.quote
	case t.quote:
	case c == '{' || c == '[':
		t.depth++
	case c == '}' || c == ']':
		t.depth--
	}
	switch between := before == 1 && !t.quote && !escaped; {
	case t.depth <= 0:
		t.over = true
		t.commit()
	case !t.behind || before > 1 && t.depth > 1:
	case !t.whole:
		t.whole = between && c == ','
	case between && c == ',':
		t.commit()
		t.put(c, escaped)
	default:
		t.put(c, escaped)
	}
}

// put keeps c, unless it is far within a text.
func (t *tail) put(c byte, escaped bool) {
	if t.text++; !t.quote {
		t.text = 0
	} else if t.cut = t.cut && t.text > 1 || t.text > mostText && !escaped; t.cut {
		return
	}
	if t.full = t.full || len(t.out) == mostTail; !t.full {
		t.out = append(t.out, c)
	}
}

func (t *tail) commit() {
	if t.behind && t.whole && !t.full {
		t.last = len(t.out)
	}
}

// join returns the members that were gathered, and then those of the head.
func (t *tail) join(head *bytes.Buffer) []byte {
	begin := bytes.IndexByte(head.Bytes(), '{') + 1
	n := head.Len()
	if t.last == 0 || begin == 0 {
		return head.Bytes()
	}
	front := 1 + t.last + 1
	head.Write(t.out[:t.last]) // for the room
	head.WriteString("{,")
	b := head.Bytes()
	b = b[:front+copy(b[front:], b[begin:n])]
	b[0], b[front-1] = '{', ','
	copy(b[1:], t.out[:t.last])
	return b
}
