package dialect

import "net/http"

// fields is a set of names of header fields, without their spelling: an answer has fewer fields than the tables name, and few
// of them look like one of those.
type fields [longestField + 1][4]uint64 // by length: the first letters

const longestField = 63

func (f *fields) add(name string) { f[len(name)][name[0]/64] |= 1 << (name[0] % 64) }

// like reports whether a field could be one of them.
func (f *fields) like(name string) bool {
	n := len(name)
	return n > 0 && n <= longestField && f[n][name[0]/64]&(1<<(name[0]%64)) != 0
}

// any reports whether a field of h could be one of them.
func (f *fields) any(h http.Header) bool {
	for name := range h {
		if f.like(name) {
			return true
		}
	}
	return false
}

// marks finds the dialect that a header field identifies.
type marks struct {
	fields

	place map[string]int // of the first in the tables with the mark
}

func (t *marks) add(s *speaker, place int) {
	for _, m := range s.marks {
		if _, taken := t.place[m]; !taken {
			t.place[m] = place
		}
		t.fields.add(m)
	}
}

// first returns the place of the first dialect in the tables that a field of h identifies.
func (t *marks) first(h http.Header) (place int, ok bool) {
	for field := range h {
		if !t.like(field) {
			continue
		}
		if i, known := t.place[field]; known && (!ok || i < place) {
			place, ok = i, true
		}
	}
	return place, ok
}
