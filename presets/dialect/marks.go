package dialect

import "net/http"

// marks finds the speaker who is known by a field. An answer has fewer fields
// than the tables have marks, and few of them look like one.
type marks struct {
	place map[string]int             // of the first in the tables who has the mark
	begin [longestMark + 1][4]uint64 // by length: the first letters that marks of it have
}

const longestMark = 63

func (t *marks) add(s *speaker, place int) {
	for _, m := range s.marks {
		if _, taken := t.place[m]; !taken {
			t.place[m] = place
		}
		t.begin[len(m)][m[0]/64] |= 1 << (m[0] % 64)
	}
}

// like reports whether a field could be a mark.
func (t *marks) like(field string) bool {
	n := len(field)
	return n > 0 && n <= longestMark && t.begin[n][field[0]/64]&(1<<(field[0]%64)) != 0
}

// first is the place of the first in the tables who is known by a field of h.
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
