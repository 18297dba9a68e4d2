package headrace

import (
	"bytes"

	"github.com/headrace/headrace/internal/jsonwalk"
)

// Bounds on what is kept of a long body behind its head: a model and a few
// numbers are a few hundred bytes.
const (
	mostTail = 16 << 10
	mostText = 1 << 10 // of one text, in bytes with its quotes
)

// tail gathers the outermost members of a JSON object that stand behind what
// was kept of it, without what is nested in them: SDKs may write the messages
// before the model. What it has can be put before the rest of the object.
type tail struct {
	walker jsonwalk.Walker
	behind bool // what comes is not kept elsewhere
	out    []byte
}

func newTail() *tail {
	t := &tail{}
	t.walker.Visitor, t.walker.Max = t, mostText
	return t
}

// over reports whether nothing more will come.
func (t *tail) over() bool { return t.walker.Ended() > 0 || t.walker.Broken() }

// Member implements jsonwalk.Visitor.
func (t *tail) Member(at *jsonwalk.Path, first byte) jsonwalk.Choice {
	switch {
	case !t.behind, t.over():
		return jsonwalk.Skip
	case first == '{':
		t.put(at, []byte("{}"))
	case first == '[':
		t.put(at, []byte("[]"))
	default:
		return jsonwalk.Keep
	}
	return jsonwalk.Skip
}

// Value implements jsonwalk.Visitor.
func (t *tail) Value(at *jsonwalk.Path, value []byte, whole bool) {
	if !whole {
		value = append(value, '"') // a number is not that long
	}
	t.put(at, value)
}

// put keeps a member if there is room for it.
func (t *tail) put(at *jsonwalk.Path, value []byte) {
	if room := mostTail - len(t.out); len(at.Last())+len(value)+len(`"":,`) > room {
		return
	}
	if len(t.out) > 0 {
		t.out = append(t.out, ',')
	}
	t.out = member(t.out, at, value)
}

// join returns the members that were gathered, and then those of the head.
func (t *tail) join(head *bytes.Buffer) []byte {
	begin := bytes.IndexByte(head.Bytes(), '{') + 1
	n := head.Len()
	if len(t.out) == 0 || begin == 0 {
		return head.Bytes()
	}
	front := 1 + len(t.out) + 1
	head.Write(t.out) // for the room
	head.WriteString("{,")
	b := head.Bytes()
	b = b[:front+copy(b[front:], b[begin:n])]
	b[0], b[front-1] = '{', ','
	copy(b[1:], t.out)
	return b
}
