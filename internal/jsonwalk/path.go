package jsonwalk

// Bounds of a Path: deeper objects are not entered, and members with a longer
// key are skipped.
const (
	MaxDepth = 4
	MaxKey   = 48
)

// Path is where a member is: the keys of the objects around it and its own, as
// they are written, escapes included.
type Path struct {
	depth int
	keys  [MaxDepth]key
}

type key struct {
	text [MaxKey]byte
	n    int // more than MaxKey: it is longer
}

// Depth is the number of keys, 1 for a member of an outermost object.
func (p *Path) Depth() int { return p.depth }

// Key returns the i-th key from the outside, 0 for the outermost. It is valid
// during the call of the Visitor.
func (p *Path) Key(i int) []byte { return p.keys[i].text[:p.keys[i].n] }

// Last returns the member's own key, as Key does.
func (p *Path) Last() []byte { return p.Key(p.depth - 1) }

// Is reports whether the path has exactly these keys.
func (p *Path) Is(keys ...string) bool {
	if len(keys) != p.depth {
		return false
	}
	for i, k := range keys {
		if string(p.Key(i)) != k {
			return false
		}
	}
	return true
}

func (k *key) add(text []byte) {
	if k.n+len(text) > MaxKey {
		k.n = MaxKey + 1
		return
	}
	k.n += copy(k.text[k.n:], text)
}

func (k *key) tooLong() bool { return k.n > MaxKey }
